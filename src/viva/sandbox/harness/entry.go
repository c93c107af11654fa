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
	var key, secret [65]byte
	if !{entry}Receive(key[:]) {
		vivaSyscall.Exit(1)
	}
	{entry}()
	vivaSyscall.Write(4, key[:])
	if {entry}Receive(secret[:]) {
		vivaSyscall.Write(4, secret[:])
	}
}
