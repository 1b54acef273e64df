package shebang

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFirstLineReadsWhatTheKernelReads(t *testing.T) {
	t.Parallel()
	long := "#!/" + strings.Repeat("a", 300)
	fits := "#!/" + strings.Repeat("a", 252) // 255 bytes, then the line's end
	tests := []struct {
		name, head, interp, arg string
		err                     error
	}{
		{"a binary", "\x7fELF", "", "", nil},
		{"an empty file", "", "", "", nil},
		{"a plain line", "#!/bin/sh\n", "/bin/sh", "", nil},
		{"no line end", "#!/bin/sh", "/bin/sh", "", nil},
		{"blanks around", "#! \t/bin/sh \t\n", "/bin/sh", "", nil},
		{"one argument", "#!/bin/sh -e\n", "/bin/sh", "-e", nil},
		{"many words are one argument", "#!/bin/sh -e -u  x \nrest", "/bin/sh", "-e -u  x", nil},
		{"tab as separator", "#!/bin/sh\t-e\n", "/bin/sh", "-e", nil},
		{"NUL ends the name", "#!/bin/sh\x00 -e\n", "/bin/sh", "", nil},
		{"NUL ends the argument", "#!/bin/sh -e\x00x", "/bin/sh", "-e", nil},
		{"only the mark", "#!", "", "", errNoInterpreter},
		{"only blanks", "#!   \n", "", "", errNoInterpreter},
		{"windows line end", "#!/bin/sh\r\n", "", "", errCarriage},
		{"windows line end after the argument", "#!/bin/sh -e\r\n", "", "", errCarriage},
		{"a relative interpreter", "#!sh\n", "", "", errRelative},
		{"a line longer than is read", long, "", "", errLongFirstLine},
		{"exactly what is read", fits + "\nx", fits[2:], "", nil},
		{"a long line whose name ends in time", "#!/bin/sh " + strings.Repeat("b", 400), "/bin/sh", strings.Repeat("b", 245), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			interp, arg, err := FirstLine([]byte(tt.head)[:min(len(tt.head), HeadSize)])
			if !errors.Is(err, tt.err) || interp != tt.interp || arg != tt.arg {
				t.Errorf("FirstLine(%q) = %q, %q, %v; want %q, %q, %v", tt.head, interp, arg, err, tt.interp, tt.arg, tt.err)
			}
		})
	}
}

func TestThroughEnv(t *testing.T) {
	t.Parallel()
	tests := []struct {
		arg  string
		want []string // nil: refused
	}{
		{"node", []string{"node"}},
		{"-S node --test  x", []string{"node", "--test", "x"}},
		{"-Snode", []string{"node"}},
		{"", nil},
		{"-S", nil},
		{"-i node", nil},
		{"-S -i node", nil},
		{"A=1", nil},
		{"-S A=1 node", nil},
		{"node --test", nil},
		{"-S node 'a b'", nil},
		{"-S node ${X}", nil},
		{"--split-string=node", nil},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			t.Parallel()
			got, err := ThroughEnv(tt.arg)
			if (err != nil) != (tt.want == nil) || !cmp.Equal(got, tt.want) {
				t.Errorf("ThroughEnv(%q) = %q, %v; want %q", tt.arg, got, err, tt.want)
			}
		})
	}
}

func FuzzFirstLine(f *testing.F) {
	for _, s := range []string{"", "#!", "#!/bin/sh -e\n", "#!/a\x00b", "#!/bin/sh\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		interp, arg, err := FirstLine(head[:min(len(head), HeadSize)])
		if err != nil && (interp != "" || arg != "") {
			t.Errorf("an error came with %q %q", interp, arg)
		}
		if interp != "" && (interp[0] != '/' || strings.ContainsAny(interp, " \t\x00\n")) {
			t.Errorf("the interpreter is %q", interp)
		}
		if strings.ContainsAny(arg, "\x00\n") {
			t.Errorf("the argument is %q", arg)
		}
		if _, err := ThroughEnv(arg); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
