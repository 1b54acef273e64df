package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"paddock/internal/store"
)

// How long a database that says nothing is taken for one that is there. Either end asks
// the other's kernel when it has heard nothing for silence.
const (
	connecting = 5 * time.Second
	silence    = 5 * time.Second
	unheard    = 10 * time.Second
)

// wired has both ends of connections notice within seconds that the other is cut off or
// gone without a word: else a question waits for a quarter of an hour, and what it had
// locked stays so.
func wired(cfg *pgx.ConnConfig) {
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout > connecting {
		cfg.ConnectTimeout = connecting
	}
	d := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence, Interval: silence / 2, Count: 2}, Control: impatient}
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return d.DialContext(ctx, network, address)
	}
	for name, value := range map[string]string{"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "3", "tcp_keepalives_count": "2", "tcp_user_timeout": "10s"} {
		cfg.RuntimeParams[name] = value
	}
}

// away is the error of who can't get in now, and may in a moment; what is wrong with who
// we are stays what it is.
func away(err error) error {
	if trouble := new(pgconn.PgError); errors.As(err, &trouble) && !gone(trouble.Code) {
		return fmt.Errorf("the database can't be used: %w", err)
	}
	return fmt.Errorf("%w, and can't be reached: %w", store.ErrAway, err)
}

// gone reports whether a code of the database's says that it ends, begins, or is one that
// only follows another.
func gone(code string) bool {
	switch code {
	case "57P01", "57P02", "57P03", // it is shut down, has crashed, or takes nobody yet
		"53300",                   // it has no room for another connection
		"25006",                   // it is a standby, or has become one
		"25P03", "57P05", "55P03": // it has waited too long for us, or for a lock of somebody else
		return true
	}
	return strings.HasPrefix(code, "08") // its connection
}

// broken reports whether an error is of the connection.
func broken(err error) bool {
	var connecting *pgconn.ConnectError
	var wire net.Error
	return errors.As(err, &connecting) || errors.As(err, &wire) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "conn closed") // pgx has no name for this one
}
