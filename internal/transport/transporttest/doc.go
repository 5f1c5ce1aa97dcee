// Package transporttest helps the tests of whoever connects and listens.
package transporttest
