//go:build !linux

package sqlite

import "errors"

// Nothing is served from these systems in this version.

func prepare(string) (func() error, error) { return nil, errors.ErrUnsupported }

func prepareOld(string) (func() error, error) { return nil, errors.ErrUnsupported }

func makeFile(string) error { return errors.ErrUnsupported }

func removeFile(string) error { return errors.ErrUnsupported }

func syncFile(string) error { return errors.ErrUnsupported }
