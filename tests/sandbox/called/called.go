package main

import (
	"errors"
	"fmt"
	"math/big"
	"sort"
)

type Money int

var state = 0

func solve(n int) int { return 2*n + 1 }
func reversed(items []int) []int {
	sort.Sort(sort.Reverse(sort.IntSlice(items)))
	return items
}
func grown(m map[string][]float64) map[string][]float64 {
	m["$c"] = []float64{1.5}
	return m
}
func swapped(m map[int]string) map[int]string { return m }
func real(number float64) float64             { return number }
func single(number float32) float32           { return number }
func large(number int64) int64                { return number }
func echo(text string) string                 { return text }
func nothing()                                { fmt.Println("it prints") }
func bump() int                               { state++; return state }
func greatest[T int | float64 | string](items []T) T {
	found := items[0]
	for _, item := range items {
		if item > found {
			found = item
		}
	}
	return found
}

func divided(a, b int) (int, error) {
	if b == 0 {
		return 0, errors.New("zero")
	}
	return a / b, nil
}
func both(a int) (int, string) { return a, fmt.Sprint(a) }
func total(numbers ...int) int {
	sum := 0
	for _, number := range numbers {
		sum += number
	}
	return sum
}
func bytes(bytes []byte) []byte      { return bytes }
func kind(value interface{}) string  { return fmt.Sprintf("%T", value) }
func money(amount Money) Money       { return amount }
func squared(number *big.Int) *big.Int { return number.Mul(number, number) }
func pointed(number *int) *int       { return number }
func runes(text string) map[rune]struct{} {
	found := map[rune]struct{}{}
	for _, one := range text {
		found[one] = struct{}{}
	}
	return found
}
func count(set map[int]bool) int { return len(set) }
func letter(code byte) string    { return string(rune(code)) }

var closure = func(n int) int { return n * 10 }

func outside(items []int) int { return items[5] }
func panics()                 { panic("text") }
func object() struct{ A int } { return struct{ A int }{1} }
func endless() [][]int {
	rows := make([][]int, 20000)
	for at := range rows {
		rows[at] = make([]int, 1000)
	}
	return rows
}

func main() { panic("nobody calls it") }
