// An operation and what answers it: its documentation, its rights, its caching and its handler in one place. What comes before every
// handler and after it is here, once.
import type { Context } from 'hono';
import * as v from 'valibot';
import type { Sql } from '../../db/client.ts';
import type { Mandant } from '../../db/mandant.ts';
import type { Json, Page, VersionedPage } from '../../db/page.ts';
import type { Subject, Versioned } from '../../db/stand.ts';
import { type Deps, type Env, queryOfRequest } from '../context.ts';
import { readOverride } from '../http-rules.ts';
import type { Auth, Operation, Shape } from '../openapi/operation.ts';
import { type ListNames, namesOfList, nextUrl, readCursor } from '../wire/cursor.ts';
import { readForm } from '../wire/form.ts';
import { checkInput, type Entries, type Output, pageFields } from '../wire/input.ts';
import { PortalError } from '../wire/portal-error.ts';
import type { Parameters } from '../wire/query.ts';
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
  extends Omit<Operation, 'override' | 'caching'> {
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

/** What reads and checks an operation's form: the same for all its requests. */
interface FormReader<F extends Entries> {
  deps: Deps;
  schema: v.ObjectSchema<F, undefined>;
}

/** A request as its handler gets it: who asks was looked up, its query is checked. */
export class Asked<A extends Auth = Auth, Q extends Entries = Entries, F extends Entries = Entries> {
  readonly c: Context<Env>;
  readonly tenant: Mandant;
  readonly reader: A extends 'required' ? number : number | null;
  readonly query: Output<Q>;
  /** Of a list: the id that its page begins after. */
  readonly beforeId: number | null;
  /** Where this request reads: whoever is logged in sees at once what they wrote. */
  readonly reads: Sql;
  readonly #form: FormReader<F>;
  readonly #fields: Parameters | null;

  constructor(
    c: Context<Env>,
    reader: number | null,
    query: Output<Q>,
    beforeId: number | null,
    form: FormReader<F>,
    fields: Parameters | null,
  ) {
    this.c = c;
    this.tenant = c.get('tenant');
    this.reader = reader as A extends 'required' ? number : number | null;
    this.query = query;
    this.beforeId = beforeId;
    this.reads = c.get('reader') === null ? form.deps.reads : form.deps.sql;
    this.#form = form;
    this.#fields = fields;
  }

  /** Reads and checks the operation's form. */
  async readForm(): Promise<Output<F>> {
    return this.checkForm(this.#fields ?? (await readForm(this.c, this.#form.deps)).fields);
  }

  /** Checks the fields of the operation's form. */
  checkForm(fields: Parameters): Output<F> {
    // What the database refuses later is repeated to the user from here.
    this.c.set('sent', fields);
    return checkInput(fields, this.#form.schema);
  }
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
  const operation: Operation = { ...described, ...(isList && { query: { ...described.query, ...pageFields } }) };
  const schema = v.object((operation.query ?? {}) as QueryOf<S, Q>);
  const names: ListNames | null = isList ? namesOfList(schema.entries) : null;
  const form: FormReader<F> = { deps, schema: v.object(described.form ?? ({} as F)) };
  return {
    ...operation,
    async answer(c) {
      const reader = c.get('reader');
      if (auth === 'required' && reader === null) throw new PortalError('nicht_angemeldet');
      const fields = formFirst ? (await readForm(c, deps)).fields : null;
      const { parameters, format } = queryOfRequest(c);
      const query = checkInput(parameters, schema);
      const { restrict, cursor } = query as { restrict?: string; cursor?: string };
      const list = names && { path: c.req.path, tenant: c.get('tenant').id, parameters, names };
      const beforeId = list && readCursor(deps.secretKey, list, cursor);
      const ask = () => handle(new Asked<A, QueryOf<S, Q>, F>(c, reader, query, beforeId, form, fields));
      if (list !== null) {
        const { rows, lastId, ...version } = (await ask()) as Page<Json> & { stand?: string };
        const answer = makeRows(format, rows, nextUrl(deps.secretKey, list, c.get('origin'), lastId), restrict, status);
        return { ...answer, ...version };
      }
      const result = await ask();
      if (shape === 'file') return result as Response;
      if (shape === 'bare') {
        const members = result as Results<C>['bare'];
        return members === null ? makeEmpty(format) : makeValue(format, 'result', members, status);
      }
      if (caching === undefined) return makeRows(format, result as Json, null, restrict, status);
      const { value, stand } = result as Versioned<Json>;
      return { ...(await makeRows(format, value, null, restrict, status)), stand };
    },
  };
}

/** The number in the path; whatever is no number is no record: unknown, not malformed. */
export function readPathId(c: Context<Env>, max = Number.MAX_SAFE_INTEGER): number {
  const value = c.req.param('id') ?? '';
  if (!/^\d{1,16}$/.test(value) || Number(value) > max) throw new PortalError('nicht_gefunden');
  return Number(value);
}

/**
 * PUT and DELETE for clients that can't send them: they ask for them by POST with X-HTTP-Method-Override (D1.14).
 * @param routes of one address, PUT first: all have its form, its rights and its answer
 */
export function override(
  [put, ...others]: readonly [Route, ...Route[]],
  described: Pick<Operation, 'operationId' | 'summary' | 'description' | 'errors' | 'examples'>,
): Route {
  const byMethod = new Map([put, ...others].map((each) => [each.method.toUpperCase(), each]));
  const methods = [...byMethod.keys()];
  const { path, tag, auth, form, files, meanings, record, shape } = put;
  return {
    method: 'post',
    path,
    tag,
    auth,
    record,
    shape,
    ...(form && { form }),
    ...(files && { files }),
    ...(meanings && { meanings }),
    override: methods,
    ...described,
    async answer(c) {
      const meant = byMethod.get(readOverride(c) ?? 'POST');
      if (!meant) throw new PortalError('methode_nicht_erlaubt', {}, { Allow: ['GET', ...methods].join(', ') });
      return meant.answer(c);
    },
  };
}
