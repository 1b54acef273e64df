package paddock

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// appendJSON appends what [Request.Digest] is of. It is what encoding/json makes of
// the same fields, to the byte, without what that allocates: every decision does
// this. TestDigestEncoding holds the two together, also when a field is added.
func (r Request) appendJSON(b []byte) []byte {
	b = appendString(append(b, `{"principal":{"kind":`...), string(r.Principal.Kind))
	b = appendString(append(b, `,"id":`...), r.Principal.ID)
	b = r.Command.appendJSON(append(b, `},"command":`...))
	b = appendField(b, `,"room":`, r.Room)
	return append(b, '}')
}

func (c *Command) appendJSON(b []byte) []byte {
	b = append(b, `{"argv":`...)
	if c.Argv == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, '[')
		for i, w := range c.Argv {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, w)
		}
		b = append(b, ']')
	}
	b = appendField(b, `,"dir":`, c.Dir)
	b = appendField(b, `,"workspace":`, c.Workspace)
	if len(c.Env) > 0 {
		b = appendMap(append(b, `,"env":`...), c.Env)
	}
	if c.ReplaceEnv != nil {
		b = appendMap(append(b, `,"replace_env":`...), c.ReplaceEnv)
	}
	if !c.Stdin.IsZero() {
		b = c.Stdin.appendJSON(append(b, `,"stdin":`...))
	}
	if t := c.Terminal; t != nil {
		b = strconv.AppendInt(append(b, `,"terminal":{"rows":`...), int64(t.Rows), 10)
		b = append(strconv.AppendInt(append(b, `,"columns":`...), int64(t.Columns), 10), '}')
	}
	b = appendNumber(b, `,"timeout_ms":`, int64(c.Timeout), c.Timeout.milliseconds())
	b = appendNumber(b, `,"idle_ms":`, int64(c.Idle), c.Idle.milliseconds())
	b = appendNumber(b, `,"output_limit":`, c.OutputLimit, c.OutputLimit)
	b = appendNumber(b, `,"disk_limit":`, c.DiskLimit, c.DiskLimit)
	b = appendField(b, `,"label":`, c.Label)
	return append(b, '}')
}

func (s Stdin) appendJSON(b []byte) []byte {
	start := len(b)
	if s.Text != nil {
		b = appendString(append(b, `,"text":`...), *s.Text)
	}
	b = appendField(b, `,"file":`, s.File)
	b = appendField(b, `,"run":`, string(s.Run))
	b = appendField(b, `,"stream":`, string(s.Stream))
	b[start] = '{' // there is a field, or nobody would have asked
	return append(b, '}')
}

// appendField leaves an empty string out.
func appendField(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

// appendNumber leaves the number out where what it was made of is zero.
func appendNumber(b []byte, key string, of, n int64) []byte {
	if of == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), n, 10)
}

func appendMap(b []byte, m map[string]string) []byte {
	b = append(b, '{')
	for i, name := range sortedKeys(m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendString(b, m[name])
	}
	return append(b, '}')
}

// appendString writes what stands for itself, and leaves to encoding/json what
// doesn't.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil { // strings always encode
				panic(fmt.Sprintf("paddock: bug: a string that can't be encoded: %v", err))
			}
			return append(b, quoted...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}
