-- Hints for those who wait: that something may be there to be taken (q), that a worker
-- is asked for something (c), that a run has come further (s). Who misses one looks at
-- the next tick.

-- +goose Up

-- +goose StatementBegin
CREATE FUNCTION paddock_hint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.state = 'queued' THEN
		PERFORM pg_notify('paddock_runs', 'q');
	ELSIF TG_OP = 'UPDATE' AND NEW.cancel <> OLD.cancel AND NEW.settled = 0 THEN
		PERFORM pg_notify('paddock_runs', 'c ' || NEW.worker);
	ELSIF TG_OP = 'UPDATE' AND NEW.state <> OLD.state THEN
		PERFORM pg_notify('paddock_runs', 's');
	END IF;
	RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER runs_hint AFTER INSERT OR UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION paddock_hint();
