package mcp

// What follows reads members of a value of JSON, by their names from the outside in. What is
// missing, or of another type, is read as empty: that it is malformed, the schema tells.

// Value returns a member of a value; nil for none.
func Value(of any, names ...string) any {
	for _, name := range names {
		object, _ := of.(map[string]any)
		of = object[name]
	}
	return of
}

// Object returns a member that is an object; nil for none.
func Object(of any, names ...string) map[string]any {
	object, _ := Value(of, names...).(map[string]any)
	return object
}

// List returns a member that is an array; nil for none.
func List(of any, names ...string) []any {
	list, _ := Value(of, names...).([]any)
	return list
}

// Text returns a member that is a string; "" for none.
func Text(of any, names ...string) string {
	text, _ := Value(of, names...).(string)
	return text
}

// Objects returns the elements of a member that is an array of objects. An element that is
// not an object is nil.
func Objects(of any, names ...string) []map[string]any {
	list := List(of, names...)
	objects := make([]map[string]any, len(list))
	for i, element := range list {
		objects[i] = Object(element)
	}
	return objects
}
