package main

// Calls the test's main function, renamed, and proves that it returned (see proof.py). The declarations below do not
// compile where the program gave one of Go's own words another meaning.

import vivaSyscall "syscall"

const _ uint = 1 - uint(len("")) + uint(iota)
const _ = true && !false
const _ = string("a") + string(rune(98))

var _ error = error(nil)
var _ []int = nil
var _ map[string]bool = nil
var _ = append([]int{}, 1)

func {entry}Panics() int { panic("") }

func {entry}Receive(text []byte) bool {
	for got := 0; got < 64; {
		more, err := vivaSyscall.Read(3, text[got:64])
		if err == vivaSyscall.EINTR {
			continue
		}
		if more <= 0 || err != nil {
			return false
		}
		got += more
	}
	rest := []byte{0}
	for rest[0] != '\n' {
		more, err := vivaSyscall.Read(3, rest)
		if err == vivaSyscall.EINTR {
			continue
		}
		if more <= 0 || err != nil {
			return false
		}
	}
	text[64] = '\n'
	return true
}

func main() {
	// The key is kept under a mask, so that nobody finds its text in memory.
	var mask, key, secret [65]byte
	if !{entry}Receive(key[:]) {
		vivaSyscall.Exit(1)
	}
	for at := range mask {
		mask[at] = byte(at*37 + 129)
		key[at] ^= mask[at]
	}
	one := []byte{0}
	{entry}()
	for at := range key {
		one[0] = key[at] ^ mask[at]
		vivaSyscall.Write(4, one)
	}
	if {entry}Receive(secret[:]) {
		vivaSyscall.Write(4, secret[:])
	}
}
