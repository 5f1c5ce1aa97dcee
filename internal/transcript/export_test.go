package transcript

// ReadWithin is Read with a bound of its own on the bytes of a line.
var ReadWithin = read
