package transport

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// decoded undoes the content coding of a body. The harness asks for none, and a
// server may then choose (RFC 9110, section 12.5.3); gzip is the one that they
// use unasked. What comes out is bounded by those who read it.
func decoded(header http.Header, body io.ReadCloser) io.ReadCloser {
	switch coding := strings.ToLower(strings.Join(header.Values("Content-Encoding"), ", ")); coding {
	case "", "identity":
		return body
	case "gzip", "x-gzip":
		return &unzipped{ReadCloser: body}
	default:
		return &unreadableBody{
			body,
			fmt.Errorf("%w: the content coding %.40q, which this harness does not support", errCoding, coding),
		}
	}
}

// errCoding marks a body that is not what its content coding says.
var errCoding = errors.New("not readable")

// unreadableBody fails at once.
type unreadableBody struct {
	io.Closer
	err error
}

func (u *unreadableBody) Read([]byte) (int, error) { return 0, u.err }

// unzipped reads a compressed body.
type unzipped struct {
	io.ReadCloser
	reader *gzip.Reader
}

func (u *unzipped) Read(target []byte) (int, error) {
	if u.reader == nil {
		reader, err := gzip.NewReader(u.ReadCloser)
		if err != nil {
			return 0, gzipError(err)
		}
		u.reader = reader
	}
	n, err := u.reader.Read(target)
	return n, gzipError(err)
}

func gzipError(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: Content-Encoding is gzip, the body is not (%w)", errCoding, err)
	}
	return err
}
