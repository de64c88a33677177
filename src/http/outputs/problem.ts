// Errors of the outputs beside the interface: problem details (RFC 9457).
import { STATUS_CODES } from 'node:http';
import type { Context } from 'hono';
import { currentScope } from '../../guard/request.ts';
import type { Env } from '../context.ts';
import { answerError, type PortalError } from '../wire/errors.ts';
import { send } from '../wire/reply.ts';

/** An error as an output answers it: `detail` is the German sentence, `parameter` names what was wrong. */
export function replyProblem(c: Context<Env>, error: PortalError): Response {
  const { status, headers, body } = answerError(error);
  const { message, fields, code } = body.error;
  c.header('ETag', undefined);
  const id = currentScope()?.id;
  if (id) c.header('X-Request-Id', id);
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  const [parameter] = Object.keys(fields);
  const problem = {
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    detail: message,
    ...(parameter !== undefined && { parameter }),
    code,
  };
  return send(c, { body: JSON.stringify(problem), type: 'application/problem+json', status });
}
