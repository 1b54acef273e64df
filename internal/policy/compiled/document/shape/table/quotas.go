package table

import "paddock/internal/policy/compiled/document/shape"

var (
	quota = shape.Object{Keys: []shape.Key{
		{Name: "runs_per_hour", Doc: "The most runs started in any hour.", Shape: shape.Integer{Min: 1, Max: 1_000_000}},
		{Name: "runs_per_day", Doc: "The most runs started in any day.", Shape: shape.Integer{Min: 1, Max: 1_000_000}},
		{Name: "output_per_day", Doc: "The most bytes of output in any day that are kept.", Shape: size},
		{Name: "cpu_per_day", Doc: "The most processors' time that runs which ended in any day took.", Shape: duration},
		{Name: "kept", Doc: "The most bytes of output in the state directory.", Shape: size},
	}}
	quotasKey = shape.Key{Name: "quotas", Doc: "How much may be used, counted for each state directory.", Shape: shape.Object{Keys: []shape.Key{
		{Name: "principal", Doc: "How much each principal may use.", Shape: quota},
		{Name: "total", Doc: "How much all principals together may use.", Shape: quota},
	}}}
)
