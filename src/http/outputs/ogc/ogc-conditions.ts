// Conditional reads of /ogc (O0.5): by the version of what an anonymous reader sees.
import type { Context } from 'hono';
import { type Deps, type Env, requestOrigin } from '../../context.ts';
import { makeTags, matches, namesAny } from '../../wire/etag.ts';
import type { OutputFormat } from './negotiate.ts';

/** The version of what is made of nothing in the database. */
export const noStand = '';

export type Conditions = ReturnType<typeof makeConditions>;

export function makeConditions(deps: Deps) {
  const { tagOf, look } = makeTags(deps);
  const tagFor = (c: Context<Env>, format: OutputFormat, stand: string) =>
    tagOf(stand, `${requestOrigin(c, deps.config.trustedHops)} ${c.req.url} ${format.name}`);
  /** Sets the ETag of what is answered. */
  const setTag = (c: Context<Env>, format: OutputFormat, stand: string) => {
    // Weak, because the time of the answer stands in some of them.
    c.header('ETag', `W/${tagFor(c, format, stand)}`);
  };
  return {
    deps,
    setTag,
    /**
     * @param lookAt the version at present
     * @returns 304 where the client has what it would be answered with at present
     */
    async answerUnchanged(c: Context<Env>, format: OutputFormat, lookAt = () => look('gezeigt')): Promise<Response | null> {
      c.header('Cache-Control', 'no-cache');
      const known = c.req.header('if-none-match');
      if (known === undefined || namesAny(known)) return null;
      const stand = await lookAt();
      if (!matches(known, tagFor(c, format, stand))) return null;
      setTag(c, format, stand);
      return c.body(null, 304);
    },
  };
}
