// Errors of the outputs beside the interface: problem details (RFC 9457).
import { STATUS_CODES } from 'node:http';
import type { Context } from 'hono';
import type { Env } from '../context.ts';
import { answerError, type PortalError } from '../wire/portal-error.ts';
import { send, setErrorHeaders } from '../wire/reply.ts';

/** An error as an output answers it: `detail` is the German sentence, `parameter` names what was wrong. */
export function replyProblem(c: Context<Env>, error: PortalError): Response {
  const { status, headers, body } = answerError(error);
  const { message, fields, code } = body.error;
  setErrorHeaders(c, headers);
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
