package table

import (
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/table/reach"
)

var (
	origin = shape.Text{Say: "a host in lower case, such as api.example.org or api.example.org:8443", Pattern: shape.Expression(reach.OriginForm)}
	header = shape.Text{Say: "the name of a header, such as Authorization", Pattern: shape.Expression(reach.HeaderForm)}
	prefix = shape.Text{Say: "1 to 64 letters, digits and signs of ASCII, such as \"Bearer \"", Pattern: shape.Expression(`^[\x21-\x7e][\x20-\x7e]{0,63}$`)}
)

var secret = shape.Object{
	Doc:   "A credential and where it goes.",
	OneOf: []string{"file", "exec"},
	Needs: map[string]string{"sha256": "exec", "timeout": "exec", "cache": "exec", "environment": "exec", "read": "exec", "network": "exec"},
	Keys: []shape.Key{
		{Name: "file", Doc: "The absolute path of the file that holds it, outside every root; only its owner, you or root, may read it.", Shape: absolutePath},
		{Name: "exec", Doc: "The program that says it on its standard output: its absolute path and all its arguments. It is a run by itself, contained, whose output is kept nowhere.",
			Shape: shape.List{Min: 1, Of: shape.Text{Say: "a word without NUL", Loose: true, Pattern: shape.Expression(`^[^\x00]*$`)}}},
		{Name: "sha256", Doc: "Pins the content of that program.",
			Shape: shape.Text{Say: "64 hexadecimal digits, as sha256sum prints them", Pattern: shape.Expression(`^(sha256:)?[0-9a-fA-F]{64}$`)}},
		{Name: "timeout", Doc: "The longest that the program may take; 10 seconds if absent.", Shape: duration},
		{Name: "cache", Doc: "How long what it said is used again, in memory; it is asked for each run if absent.", Shape: duration},
		{Name: "environment", Doc: "The program's variables, beside PATH; it gets none of those for all.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "set", Doc: "Variables with their values.", Shape: envValues},
				{Name: "pass", Doc: "Variables passed on from Paddock's own environment.", Shape: envNames},
			}}},
		{Name: "read", Doc: "Paths that the program may read beside the system's own and its own directory.", Shape: shape.List{Of: absolutePath}},
		{Name: "network", Doc: "The hosts that the program may reach, at level full; none if absent.", Shape: shape.List{Of: place, Min: 1}},
		{Name: "inject", Doc: "Which requests carry it.", Shape: shape.Object{Keys: []shape.Key{
			{Name: "host", Doc: "the host whose requests carry it, on port 443 or the one that follows a colon. Programs whose `network` lists the place use it.", Shape: origin, Required: true},
			{Name: "header", Doc: "the header that is set, whatever the program sends in it.", Shape: header, Required: true},
			{Name: "prefix", Doc: "What stands in the header before it, such as \"Bearer \".", Shape: prefix},
			{Name: "ca", Doc: "A file of certificates in PEM by which the host is verified, instead of the system's.", Shape: absolutePath},
		}}},
		{Name: "env_for", Doc: "The words of the executables that get it as a variable of its name.", Shape: shape.List{Min: 1, Of: shape.Text{Say: "the word of an executable", Pattern: shape.Expression(`^[^\x00-\x20\x7f]+$`)}}},
	},
	Conditions: []any{map[string]any{"anyOf": []any{
		map[string]any{"required": []any{"inject"}}, map[string]any{"required": []any{"env_for"}},
	}}},
}
