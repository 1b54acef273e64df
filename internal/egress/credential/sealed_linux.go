package credential

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func sealed(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("credentials", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memory for credentials: %w", err)
	}
	file := os.NewFile(uintptr(fd), "credentials")
	_, err = file.Write(text)
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("memory for credentials: %w", err), file.Close())
	}
	return file, nil
}
