// Conditional reads of /ogc (O0.5): by the version of what an anonymous reader sees.
import { createHmac } from 'node:crypto';
import type { Context } from 'hono';
import { getStand } from '../../../db/stand.ts';
import { type Deps, type Env, requestOrigin } from '../../context.ts';
import { matches } from '../../wire/etag.ts';
import type { OutputFormat } from './negotiate.ts';

/**
 * Sets the ETag of what is going to be answered. Weak, because the time of the answer stands in some of them. Before anything is read:
 * what is newer than its tag is fetched once more, the other way round a change would be missed.
 * @returns 304 where the client has it already
 */
export async function answerUnchanged(
  c: Context<Env>,
  { reads, secretKey, build, config }: Deps,
  format: OutputFormat,
): Promise<Response | null> {
  const stand = await getStand(reads, 'gezeigt');
  const address = `${requestOrigin(c, config.trustedHops)} ${c.req.url} ${format.name}`;
  // With the key: what the version counts is nobody's business (D6.7).
  const tag = `"${createHmac('sha256', secretKey).update(`ogc ${build} ${stand} ${address}`).digest('base64url').slice(0, 22)}"`;
  c.header('Cache-Control', 'no-cache');
  c.header('ETag', `W/${tag}`);
  return matches(c.req.header('if-none-match'), tag) ? c.body(null, 304) : null;
}
