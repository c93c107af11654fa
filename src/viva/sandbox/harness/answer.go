package main

// Calls functions of the program by name and replies with what they return (see calls.py). It knows no expected value.
// {entry}Functions, the table of functions, is written for the calls.

import (
	{entry}base64 "encoding/base64"
	{entry}json "encoding/json"
	{entry}fmt "fmt"
	{entry}math "math"
	{entry}big "math/big"
	{entry}os "os"
	{entry}reflect "reflect"
	{entry}strings "strings"
	{entry}utf8 "unicode/utf8"
)

const {entry}Depth, {entry}Length = 64, 16000000

// Why there is no value: "missing", the call has no function that takes its arguments, or "unknown", it has no encoding.
type {entry}Refused struct{ kind, what string }

var {entry}BigInt = {entry}reflect.TypeOf((*{entry}big.Int)(nil))
var {entry}Error = {entry}reflect.TypeOf((*error)(nil)).Elem()
var {entry}Empty = {entry}reflect.TypeOf(struct{}{})

func main() {
	decoder := {entry}json.NewDecoder({entry}os.NewFile(3, "requests"))
	decoder.UseNumber()
	to := {entry}os.NewFile(4, "replies")
	for {
		var request struct {
			ID   int
			Call string
			Args []interface{}
		}
		if decoder.Decode(&request) != nil {
			{entry}os.Exit(0)
		}
		reply := {entry}Answer(request.ID, request.Call, request.Args)
		reply["id"] = request.ID
		text, _ := {entry}json.Marshal(reply)
		if len(text) > {entry}Length {
			text, _ = {entry}json.Marshal(map[string]interface{}{"id": request.ID, "unknown": "a value too long"})
		}
		to.Write(append(text, '\n'))
	}
}

func {entry}Answer(number int, name string, given []interface{}) (reply map[string]interface{}) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case {entry}Refused:
			reply = map[string]interface{}{problem.kind: problem.what}
		default:
			reply = {entry}Raised(problem)
		}
	}()
	named := {entry}Functions[number-1]
	if named == nil {
		panic({entry}Refused{"missing", "no function " + name})
	}
	function := {entry}reflect.ValueOf(named())
	if function.Kind() != {entry}reflect.Func || function.IsNil() {
		panic({entry}Refused{"missing", name + " is no function"})
	}
	results := function.Call({entry}Arguments(name, function.Type(), given))
	if last := len(results) - 1; last >= 0 && function.Type().Out(last) == {entry}Error {
		if !results[last].IsNil() {
			return {entry}Raised(results[last].Interface())
		}
		results = results[:last]
	}
	values := make([]interface{}, len(results))
	for at, result := range results {
		values[at] = {entry}Encoded(result, 0)
	}
	switch len(values) {
	case 0:
		return map[string]interface{}{"returns": nil}
	case 1:
		return map[string]interface{}{"returns": values[0]}
	}
	return map[string]interface{}{"returns": map[string]interface{}{"$tuple": values}}
}

// What a panic or an error says, and the bare name of its type.
func {entry}Raised(problem interface{}) map[string]interface{} {
	kind := {entry}strings.TrimLeft({entry}fmt.Sprintf("%T", problem), "*")
	kind = kind[{entry}strings.LastIndex(kind, ".")+1:]
	message := {entry}strings.ToValidUTF8({entry}fmt.Sprint(problem), "?")
	return map[string]interface{}{"raises": map[string]string{"type": kind, "message": message}}
}

func {entry}Arguments(name string, function {entry}reflect.Type, given []interface{}) []{entry}reflect.Value {
	fixed := function.NumIn()
	if function.IsVariadic() {
		fixed--
	}
	if len(given) < fixed || len(given) > fixed && !function.IsVariadic() {
		panic({entry}Refused{"missing", {entry}fmt.Sprintf("no function %s for %d arguments: it is a %v", name, len(given), function)})
	}
	defer func() {
		if unfit, found := recover().({entry}Refused); found {
			panic({entry}Refused{"missing", {entry}fmt.Sprintf("no function %s for these arguments: %s, but it is a %v", name, unfit.what, function)})
		}
	}()
	arguments := []{entry}reflect.Value{}
	for at, value := range given {
		kind := {entry}reflect.Type(nil)
		if at < fixed {
			kind = function.In(at)
		} else {
			kind = function.In(fixed).Elem()
		}
		arguments = append(arguments, {entry}Decoded(value, kind))
	}
	return arguments
}

// The tag of a JSON object, if it has one, and what is behind it.
func {entry}Tagged(value interface{}) (string, interface{}) {
	if object, found := value.(map[string]interface{}); found && len(object) == 1 {
		for key, inner := range object {
			if len(key) > 1 && key[0] == '$' && key[1] != '$' {
				return key, inner
			}
		}
	}
	return "", value
}

// A value of a request as a parameter's type wants it.
func {entry}Decoded(value interface{}, kind {entry}reflect.Type) {entry}reflect.Value {
	found := {entry}reflect.New(kind).Elem()
	unfit := {entry}Refused{"unknown", {entry}fmt.Sprintf("%.60s is no %v", {entry}fmt.Sprint(value), kind)}
	tag, inner := {entry}Tagged(value)
	if kind == {entry}BigInt {
		number, fits := new({entry}big.Int).SetString({entry}fmt.Sprint(value), 10)
		if !fits {
			panic(unfit)
		}
		return {entry}reflect.ValueOf(number)
	}
	if kind.Kind() == {entry}reflect.Interface {
		if value != nil {
			natural := {entry}Natural(value)
			if !natural.AssignableTo(kind) {
				panic(unfit)
			}
			found.Set({entry}Decoded(value, natural))
		}
		return found
	}
	if kind.Kind() == {entry}reflect.Ptr {
		if value != nil {
			found.Set({entry}reflect.New(kind.Elem()))
			found.Elem().Set({entry}Decoded(value, kind.Elem()))
		}
		return found
	}
	fits := false
	switch each := inner.(type) {
	case nil:
		fits = kind.Kind() == {entry}reflect.Slice || kind.Kind() == {entry}reflect.Map
	case bool:
		if fits = kind.Kind() == {entry}reflect.Bool; fits {
			found.SetBool(each)
		}
	case {entry}json.Number:
		fits = {entry}Number(each, found)
	case string:
		fits = {entry}Text(tag, each, found)
	case []interface{}:
		fits = {entry}List(tag, each, found)
	case map[string]interface{}:
		if fits = kind.Kind() == {entry}reflect.Map; fits {
			found.Set({entry}reflect.MakeMap(kind))
			for key, item := range each {
				if {entry}strings.HasPrefix(key, "$") {
					key = key[1:]
				}
				found.SetMapIndex({entry}Decoded(key, kind.Key()), {entry}Decoded(item, kind.Elem()))
			}
		}
	}
	if !fits {
		panic(unfit)
	}
	return found
}

func {entry}Number(number {entry}json.Number, to {entry}reflect.Value) bool {
	switch to.Kind() {
	case {entry}reflect.Float32, {entry}reflect.Float64:
		real, err := number.Float64()
		to.SetFloat(real)
		return err == nil
	}
	whole, fits := new({entry}big.Int).SetString(string(number), 10)
	if !fits {
		return false
	}
	switch to.Kind() {
	case {entry}reflect.Int, {entry}reflect.Int8, {entry}reflect.Int16, {entry}reflect.Int32, {entry}reflect.Int64:
		if fits = whole.IsInt64() && !to.OverflowInt(whole.Int64()); fits {
			to.SetInt(whole.Int64())
		}
		return fits
	case {entry}reflect.Uint, {entry}reflect.Uint8, {entry}reflect.Uint16, {entry}reflect.Uint32, {entry}reflect.Uint64:
		if fits = whole.IsUint64() && !to.OverflowUint(whole.Uint64()); fits {
			to.SetUint(whole.Uint64())
		}
		return fits
	}
	return false
}

func {entry}Text(tag string, text string, to {entry}reflect.Value) bool {
	runes := []rune(text)
	switch kind := to.Kind(); {
	case tag == "$float" && (kind == {entry}reflect.Float32 || kind == {entry}reflect.Float64):
		to.SetFloat({entry}Special(text))
	case tag == "$bytes" && kind == {entry}reflect.Slice && to.Type().Elem().Kind() == {entry}reflect.Uint8:
		content, _ := {entry}base64.StdEncoding.DecodeString(text)
		to.SetBytes(content)
	case tag != "":
		return false
	case kind == {entry}reflect.String:
		to.SetString(text)
	case kind == {entry}reflect.Int32 && len(runes) == 1:
		to.SetInt(int64(runes[0]))
	case kind == {entry}reflect.Uint8 && len(runes) == 1 && runes[0] < 256:
		to.SetUint(uint64(runes[0]))
	default:
		return false
	}
	return true
}

func {entry}Special(text string) float64 {
	return map[string]float64{"nan": {entry}math.NaN(), "inf": {entry}math.Inf(1), "-inf": {entry}math.Inf(-1)}[text]
}

func {entry}List(tag string, items []interface{}, to {entry}reflect.Value) bool {
	kind := to.Type()
	switch {
	case tag == "$map" && kind.Kind() == {entry}reflect.Map:
		to.Set({entry}reflect.MakeMap(kind))
		for _, pair := range items {
			both := pair.([]interface{})
			to.SetMapIndex({entry}Decoded(both[0], kind.Key()), {entry}Decoded(both[1], kind.Elem()))
		}
	case tag == "$set" && kind.Kind() == {entry}reflect.Map:
		to.Set({entry}reflect.MakeMap(kind))
		for _, item := range items {
			member := {entry}reflect.New(kind.Elem()).Elem()
			if member.Kind() == {entry}reflect.Bool {
				member.SetBool(true)
			}
			to.SetMapIndex({entry}Decoded(item, kind.Key()), member)
		}
	case kind.Kind() == {entry}reflect.Slice || kind.Kind() == {entry}reflect.Array && kind.Len() == len(items):
		if kind.Kind() == {entry}reflect.Slice {
			to.Set({entry}reflect.MakeSlice(kind, len(items), len(items)))
		}
		for at, item := range items {
			to.Index(at).Set({entry}Decoded(item, kind.Elem()))
		}
	default:
		return false
	}
	return true
}

// The type that a value has where nothing says another.
func {entry}Natural(value interface{}) {entry}reflect.Type {
	tag, inner := {entry}Tagged(value)
	switch each := inner.(type) {
	case {entry}json.Number:
		if whole, fits := new({entry}big.Int).SetString(string(each), 10); !fits {
			return {entry}reflect.TypeOf(0.0)
		} else if !whole.IsInt64() {
			return {entry}BigInt
		}
		return {entry}reflect.TypeOf(0)
	case string:
		if tag == "$float" {
			return {entry}reflect.TypeOf(0.0)
		} else if tag == "$bytes" {
			return {entry}reflect.TypeOf([]byte{})
		}
	}
	return {entry}reflect.TypeOf(inner)
}

// A value as what encoding/json writes in the shape that Viva reads.
func {entry}Encoded(value {entry}reflect.Value, depth int) interface{} {
	if depth > {entry}Depth {
		panic({entry}Refused{"unknown", "a value too deep"})
	}
	if !value.IsValid() {
		return nil
	}
	kind := value.Type()
	if kind == {entry}BigInt && !value.IsNil() {
		return {entry}json.Number({entry}fmt.Sprint(value))
	}
	switch value.Kind() {
	case {entry}reflect.Bool:
		return value.Bool()
	case {entry}reflect.Int, {entry}reflect.Int8, {entry}reflect.Int16, {entry}reflect.Int32, {entry}reflect.Int64:
		return value.Int()
	case {entry}reflect.Uint, {entry}reflect.Uint8, {entry}reflect.Uint16, {entry}reflect.Uint32, {entry}reflect.Uint64:
		return value.Uint()
	case {entry}reflect.Float32, {entry}reflect.Float64:
		real := value.Float()
		if {entry}math.IsNaN(real) || {entry}math.IsInf(real, 0) {
			return map[string]interface{}{"$float": {entry}strings.ToLower({entry}strings.TrimLeft({entry}fmt.Sprint(real), "+"))}
		} else if kind.Kind() == {entry}reflect.Float32 {
			return float32(real)
		}
		return real
	case {entry}reflect.String:
		if !{entry}utf8.ValidString(value.String()) {
			return map[string]interface{}{"$bytes": []byte(value.String())}
		}
		return value.String()
	case {entry}reflect.Ptr, {entry}reflect.Interface:
		if value.IsNil() {
			return nil
		}
		return {entry}Encoded(value.Elem(), depth+1)
	case {entry}reflect.Slice, {entry}reflect.Array:
		if kind.Kind() == {entry}reflect.Slice && kind.Elem().Kind() == {entry}reflect.Uint8 {
			return map[string]interface{}{"$bytes": append([]byte{}, value.Bytes()...)}
		}
		items := make([]interface{}, value.Len())
		for at := range items {
			items[at] = {entry}Encoded(value.Index(at), depth+1)
		}
		return items
	case {entry}reflect.Map:
		return {entry}EncodedMap(value, depth)
	}
	panic({entry}Refused{"unknown", kind.String()})
}

func {entry}EncodedMap(value {entry}reflect.Value, depth int) interface{} {
	object := map[string]interface{}{}
	pairs := []interface{}{}
	members := []interface{}{}
	for _, key := range value.MapKeys() {
		encoded := {entry}Encoded(key, depth+1)
		members = append(members, encoded)
		if value.Type().Elem() == {entry}Empty {
			continue
		}
		item := {entry}Encoded(value.MapIndex(key), depth+1)
		pairs = append(pairs, []interface{}{encoded, item})
		if text, found := encoded.(string); found {
			if {entry}strings.HasPrefix(text, "$") {
				text = "$" + text
			}
			object[text] = item
		}
	}
	if value.Type().Elem() == {entry}Empty {
		return map[string]interface{}{"$set": members}
	}
	if len(object) == len(pairs) {
		return object
	}
	return map[string]interface{}{"$map": pairs}
}
