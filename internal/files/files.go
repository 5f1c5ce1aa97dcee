// Package files is a leaf: what several packages say of files.
package files

import (
	"errors"
	"io/fs"
	"os"
)

// Reason takes the path out of an error, for messages in which it stands already, or in
// which it would say nothing, as that of a temporary file.
func Reason(err error) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return path.Err
	}
	if link, is := errors.AsType[*os.LinkError](err); is {
		return link.Err
	}
	return err
}
