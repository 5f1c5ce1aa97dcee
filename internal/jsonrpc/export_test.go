package jsonrpc

// DecodeWithin is Decode with a bound of its own on the values of a message.
var DecodeWithin = decode
