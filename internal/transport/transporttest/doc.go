// Package transporttest helps the tests of packages that connect and listen.
package transporttest
