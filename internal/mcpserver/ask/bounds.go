package ask

import "github.com/google/jsonschema-go/jsonschema"

// atLeast, within and oneOf bound a value in a schema.
func atLeast(s *jsonschema.Schema, least float64) { s.Minimum = &least }

func within(s *jsonschema.Schema, least, most float64) { s.Minimum, s.Maximum = &least, &most }

func oneOf[T ~string](s *jsonschema.Schema, values ...T) {
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
