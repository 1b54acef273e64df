package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/contain/probe"
	"paddock/internal/policy"
)

// attempt lets a program attempt everything in the scene, by the way that every
// run takes: judged by a policy, started, supervised and recorded.
func (d commands) attempt(ctx context.Context, s *scene, report *LevelReport) (err error) {
	path, err := d.stage(ctx, s.at("stage"))
	if err != nil {
		report.Problem = err.Error()
		return nil
	}
	compiled, err := policy.Load(s.at("policy.yaml"), s.policy(path))
	if err != nil {
		return fmt.Errorf("the throw-away policy: %w", err)
	}
	v, err := d.Judge(ctx, s.at("state"), compiled)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	run, out, err := d.run(ctx, v, s)
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		report.Problem = refusal.Message
		return nil
	}
	if err != nil {
		return err
	}
	report.Isolation, report.Tree, report.Enforced = run.Isolation, run.Tree, run.Enforced
	if run.State == paddock.FailedToStart {
		report.Problem = "a run can't be started: " + desk.Describe(run)
		return nil
	}
	results, err := read(out)
	if err == nil {
		err = s.outside(results)
	}
	if err != nil {
		return fmt.Errorf("what was attempted at %s: %w; the program: %s", s.level, err, desk.Describe(run))
	}
	report.take(results)
	return nil
}

// run starts the program and returns its record and what it printed.
func (d commands) run(ctx context.Context, v desk.Verbs, s *scene) (paddock.Run, io.Reader, error) {
	targets, err := json.Marshal(s.targets)
	if err != nil {
		return paddock.Run{}, nil, err
	}
	text := string(targets)
	run, err := v.Start(ctx, paddock.Request{
		Principal: d.Operator(), Door: paddock.DoorCLI, Tied: true,
		Command: paddock.Command{Argv: []string{"paddock-stage", "probe"}, Stdin: paddock.Stdin{Text: &text}},
	})
	if err != nil || run.State == paddock.FailedToStart {
		return run, nil, err
	}
	var out bytes.Buffer
	if err := v.Follow(ctx, d.Operator(), run.ID, paddock.Stdout, 0, &out); err != nil {
		return run, nil, err
	}
	run, err = v.Wait(ctx, d.Operator(), run.ID, 0)
	return run, &out, err
}

// read reads results until the end. A program that was ended in the middle has
// said what it has said: what is missing isn't taken for held.
func read(r io.Reader) ([]probe.Result, error) {
	var results []probe.Result
	for decoder := json.NewDecoder(r); ; {
		var result probe.Result
		err := decoder.Decode(&result)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return results, nil
		}
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
}
