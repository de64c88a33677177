// An operation and what answers it: its documentation, its rights, its caching and its handler in one place. What comes before every
// handler and after it is here, once.
import type { Context } from 'hono';
import * as v from 'valibot';
import type { Sql } from '../../db/client.ts';
import type { Mandant } from '../../db/mandant.ts';
import type { Json, Page, Subject, Versioned, VersionedPage } from '../../db/page.ts';
import type { Deps, Env } from '../context.ts';
import { readOverride } from '../http-rules.ts';
import type { Auth, Operation, Shape } from '../openapi/operation.ts';
import { readFormat } from '../wire/answer-format.ts';
import { type ListNames, namesOfList, nextUrl, readCursor } from '../wire/cursor.ts';
import { readForm } from '../wire/form.ts';
import { checkInput, type Entries, type Output, pageFields } from '../wire/input.ts';
import { PortalError } from '../wire/portal-error.ts';
import { type Parameters, parseQuery, queryOf } from '../wire/query.ts';
import { type Answer, makeEmpty, makeRows, makeValue } from '../wire/reply.ts';
import type { Value } from '../wire/xml.ts';

/** An operation that the service answers: there is none without documentation. */
export interface Route extends Operation {
  answer(c: Context<Env>): Promise<Answer | Response>;
}

type None = Record<never, never>;
type QueryOf<S extends Shape, Q extends Entries> = S extends 'list' ? Q & typeof pageFields : Q;

/** What a handler gives, by the shape of the answer; with its version, where it is answered conditionally. */
interface Results<C> {
  list: C extends Subject ? VersionedPage<Json> : Page<Json>;
  single: C extends Subject ? Versioned<Json> : Json;
  /** Null for an empty body. */
  bare: { [name: string]: Value } | null;
  file: Response;
}

interface Described<A extends Auth, S extends Shape, C, Q extends Entries, F extends Entries>
  extends Omit<Operation, 'method' | 'override' | 'caching'> {
  /** GET, unless it says something else. */
  method?: Operation['method'];
  auth: A;
  shape: S;
  caching?: C & Subject;
  /** Of a list, its filters. */
  query?: Q;
  form?: F;
  /** The form is read before the query is checked. When both are wrong, that decides what the client is told. */
  formFirst?: true;
  handle(asked: Asked<A, QueryOf<S, Q>, F>): Promise<Results<C>[S]>;
}

/** A request as its handler gets it: who asks was looked up, its query is checked. */
export interface Asked<A extends Auth = Auth, Q extends Entries = Entries, F extends Entries = Entries> {
  c: Context<Env>;
  tenant: Mandant;
  reader: A extends 'required' ? number : number | null;
  query: Output<Q>;
  /** Of a list: the id that its page begins after. */
  beforeId: number | null;
  /** Where this request reads: whoever is logged in sees at once what they wrote. */
  reads: Sql;
  /** Reads and checks the operation's form. */
  readForm(): Promise<Output<F>>;
  /** Checks the fields of the operation's form. */
  checkForm(fields: Parameters): Output<F>;
}

/** Makes a route of what is told of an operation and of its handler. */
export function route<
  const A extends Auth,
  const S extends Shape,
  const C = undefined,
  Q extends Entries = None,
  F extends Entries = None,
>(deps: Deps, { handle, formFirst, ...described }: Described<A, S, C, Q, F>): Route {
  const { auth, shape, caching, status = 200 } = described;
  const isList = shape === 'list';
  const operation: Operation = { method: 'get', ...described, ...(isList && { query: { ...described.query, ...pageFields } }) };
  const schema = v.object((operation.query ?? {}) as QueryOf<S, Q>);
  const names: ListNames | null = isList ? namesOfList(schema.entries) : null;
  const formSchema = v.object(described.form ?? ({} as F));
  return {
    ...operation,
    async answer(c) {
      const reader = c.get('reader');
      if (auth === 'required' && reader === null) throw new PortalError('nicht_angemeldet');
      const fields = formFirst ? (await readForm(c)).fields : null;
      const parameters = parseQuery(queryOf(c.req.url));
      // What the database refuses later is repeated to the user from here, or from the form.
      c.set('sent', parameters);
      const format = readFormat(parameters);
      const query = checkInput(parameters, schema);
      const { restrict, cursor } = query as { restrict?: string; cursor?: string };
      const tenant = c.get('tenant');
      const list = names && { path: c.req.path, tenant: tenant.id, parameters, names };
      const beforeId = list && readCursor(deps.secretKey, list, cursor);
      const checkForm = (sent: Parameters) => {
        c.set('sent', sent);
        return checkInput(sent, formSchema);
      };
      const result = await handle({
        c,
        tenant,
        reader: reader as Asked<A>['reader'],
        query,
        beforeId,
        reads: reader === null ? deps.reads : deps.sql,
        readForm: async () => checkForm(fields ?? (await readForm(c)).fields),
        checkForm,
      });
      if (list !== null) {
        const { rows, lastId, ...version } = result as Page<Json> & Partial<VersionedPage>;
        const next = nextUrl(deps.secretKey, list, c.get('origin'), lastId);
        return { ...(await makeRows(format, rows, next, restrict, status)), ...version };
      }
      if (shape === 'file') return result as Response;
      if (shape === 'bare') {
        const members = result as Results<C>['bare'];
        return members === null ? makeEmpty(format) : makeValue(format, 'result', members, status);
      }
      if (caching === undefined) return makeRows(format, result as Json, null, restrict, status);
      const { value, ...version } = result as Versioned<Json>;
      return { ...(await makeRows(format, value, null, restrict, status)), ...version };
    },
  };
}

/**
 * PUT and DELETE for clients that can't send them: they ask for them by POST with X-HTTP-Method-Override (D1.14).
 * @param routes of one address, PUT first: all have its form, its rights and its answer
 */
export function override(
  [put, ...others]: readonly [Route, ...Route[]],
  described: Pick<Operation, 'operationId' | 'summary' | 'description' | 'examples'>,
): Route {
  const byMethod = new Map([put, ...others].map((each) => [each.method.toUpperCase(), each]));
  const methods = [...byMethod.keys()];
  return {
    ...put,
    method: 'post',
    override: methods,
    errors: [...(put.errors ?? []), 'methode_nicht_erlaubt'],
    ...described,
    async answer(c) {
      const meant = byMethod.get(readOverride(c) ?? 'POST');
      if (!meant) throw new PortalError('methode_nicht_erlaubt', {}, { Allow: ['GET', ...methods].join(', ') });
      return meant.answer(c);
    },
  };
}
