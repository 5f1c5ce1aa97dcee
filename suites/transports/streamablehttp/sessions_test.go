package streamablehttp

import "testing"

func TestGuessable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ids  []string
		want bool
	}{
		"UUIDs of version 4":      {[]string{"398cb930-b584-4489-b8d2-62f4d971726b", "28c6ef73-b88c-452c-928c-d94fb1ea8f4e"}, false},
		"UUIDs of version 7":      {[]string{"019a5c3e-7d1a-7c3f-9b2e-51d0c84fa6e7", "019a5c3e-7d1b-7e90-a6f4-0b97e3d25c18"}, false},
		"16 hexadecimal digits":   {[]string{"9f86d081884c7d65", "2c26b46b68ffc68f"}, false},
		"random text":             {[]string{"ZGKKWWBBR52OJSORAFRFVKOLVX", "TYF7LRPWU2NWD5BFCCOO2VCIVC"}, false},
		"tokens with a signature": {[]string{"eyJhbGciOiJIUzI1NiJ9.eyJqdGkiOiIxIn0.q3Wm8Zr1", "eyJhbGciOiJIUzI1NiJ9.eyJqdGkiOiIyIn0.Bx7tYp0L"}, false},
		"a counter":               {[]string{"session-1001", "session-1002"}, true},
		"a counter, further on":   {[]string{"session-1001", "session-1873"}, true},
		"a clock":                 {[]string{"1763719200123", "1763719200457"}, true},
		"the same":                {[]string{"9f86d081884c7d65", "9f86d081884c7d65"}, true},
		"UUIDs of version 1":      {[]string{"c5f0b3a0-c6b5-11f0-8de9-0242ac120002", "c5f0b7d4-c6b5-11f0-8de9-0242ac120002"}, true},
		"one":                     {[]string{"1"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if one, other, found := guessable(test.ids); found != test.want {
				t.Errorf("guessable: %t, wanted %t (%q and %q)", found, test.want, one, other)
			}
		})
	}
}
