-- +goose Up

-- What a run was started by is of no more use when it has started, or won't, and may have
-- what nobody should read later: values of variables, the text of standard input.

-- +goose StatementBegin
CREATE TRIGGER runs_spent AFTER UPDATE OF started, settled ON runs WHEN NEW.started > 0 OR NEW.settled > 0
BEGIN
	UPDATE runs SET envelope = zeroblob(0) WHERE id = NEW.id AND length(envelope) > 0;
END;
-- +goose StatementEnd
