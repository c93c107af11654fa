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

// The next byte that Viva sends.
func {entry}Next() byte {
	one := []byte{0}
	for {
		more, err := vivaSyscall.Read(3, one)
		if more == 1 {
			return one[0]
		}
		if err != vivaSyscall.EINTR {
			vivaSyscall.Exit(1)
		}
	}
}

func main() {
	// The key is kept under a mask, so that nobody finds its text in memory.
	var mask, key [64]byte
	for at := range key {
		mask[at] = byte(at*37 + 129)
		key[at] = {entry}Next() ^ mask[at]
	}
	for {entry}Next() != '\n' {
	}
	{entry}()
	for at := range key {
		vivaSyscall.Write(4, []byte{key[at] ^ mask[at]})
	}
	vivaSyscall.Write(4, []byte{'\n'})
	// What answers the key goes back.
	for one := byte(0); one != '\n'; {
		one = {entry}Next()
		vivaSyscall.Write(4, []byte{one})
	}
}
