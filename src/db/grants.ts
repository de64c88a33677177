// What the database's administrator still has to do before analysts may log in.
import type { Sql } from './client.ts';
import { runPatiently } from './tables.ts';

/** Lets the role of the service use the queue's tables, which are made after the functions. */
export async function grantWarteschlange(sql: Sql): Promise<void> {
  await runPatiently(
    sql,
    () => {},
    async (tx) => {
      await tx`select api.grant_warteschlange()`;
    },
  );
}

/**
 * What sql/code/grants.sql could not do with the rights of the migrating role: one German sentence each, for the operator,
 * with the statement that does it. Empty when everything is in place.
 */
export async function listGrantWarnings(sql: Sql): Promise<string[]> {
  const [facts] = await sql<
    {
      roles: string[];
      functions: string[];
      packer: string;
      open_schema: boolean;
      locks: string[];
      temporary: string | null;
      definitions: string[];
      keepers: string[];
      dienst: boolean;
      queueless: string[];
      output: string | null;
      dienst_output: boolean;
      unseen: string | null;
    }[]
  >`
    with keeper as materialized (select r as role from api.list_sperrende_rolle() r)
    select
      array_to_json(array(
        select r.name from unnest('{gis_public,gis_exact}'::text[]) r (name) where to_regrole(r.name) is null)) as roles,
      array_to_json(array(select f::text from api.list_postgis_funktion(public_only => true) f)) as functions,
      (select p.proowner::regrole::text from pg_proc p where p.pronamespace = 'ausgabe'::regnamespace and p.proname = 'get_tile') as packer,
      exists (
        select from pg_namespace n, aclexplode(n.nspacl) a
        where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE') as open_schema,
      array_to_json(array(select f::text from api.list_sperrende_funktion(public_only => true) f)) as locks,
      (select quote_ident(d.datname)
        from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
        where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'TEMPORARY') as temporary,
      array_to_json(array(select api.list_definition_anweisung())) as definitions,
      array_to_json(array(select k.role::text from keeper k order by 1)) as keepers,
      to_regrole('portal_dienst') is not null as dienst,
      array_to_json(array(
        select quote_ident(r.rolname)
        from pg_roles r
        where (r.rolname = 'portal_dienst' or r.oid in (select k.role from keeper k))
          and not (
            has_function_privilege(r.oid, 'pg_catalog.pg_advisory_xact_lock(bigint)', 'execute')
            and has_function_privilege(r.oid, 'pg_catalog.pg_try_advisory_xact_lock(bigint)', 'execute'))
        order by 1)) as queueless,
      case when to_regrole('gis_public') is not null and not api.is_ausgabe_erlaubt() then quote_ident(current_user) end as output,
      coalesce(
        not pg_has_role(
          to_regrole('portal_dienst'), to_regrole('gis_public'),
          case when current_setting('server_version_num')::integer >= 160000 then 'SET' else 'MEMBER' end),
        false) as dienst_output,
      case when not api.is_auswertung_sichtbar() then quote_ident(current_user) end as unseen`;
  if (!facts) return [];
  const { roles, functions, packer, locks, temporary, definitions, queueless, dienst } = facts;
  const keepers = facts.keepers.join(', ');
  // Which role serves is not known here: the one that migrates, or one of the group.
  const outputs = 'antworten Karten und GIS-Programme (/ogc und was sonst neben /api/v2 steht) mit 503';
  // Maps are made with them, by functions of this owner.
  const packing = functions.filter((name) => /^(public\.)?st_asmvt\(/.test(name));
  const kept = packing.length > 0 ? `grant execute on function ${packing.join(', ')} to ${packer}; ` : '';
  // Of the functions that take locks the queue needs two, and the service's group gets no others, and no temporary tables.
  const toQueue = (names: Iterable<string>) =>
    `grant execute on function pg_advisory_xact_lock(bigint), pg_try_advisory_xact_lock(bigint) to ${[...names].join(', ')}`;
  const queue = new Set([...(dienst ? ['portal_dienst'] : []), ...queueless]);
  // PostgreSQL has a role for whoever watches the server.
  const counters = locks.filter((name) => name.startsWith('pg_stat_get_'));
  const hasLocks = locks.length > 0;
  const closing = onlyTexts([
    hasLocks && `grant execute on function ${locks.join(', ')} to ${keepers}`,
    counters.length > 0 && `grant execute on function ${counters.join(', ')} to pg_monitor`,
    hasLocks && queue.size > 0 && toQueue(queue),
    hasLocks && `revoke execute on function ${locks.join(', ')} from public`,
    temporary !== null && `grant temporary on database ${temporary} to ${keepers}`,
    temporary !== null && `revoke temporary on database ${temporary} from public`,
  ]);
  return onlyTexts([
    roles.length > 0 &&
      `Für Auswertungen fehlen Rollen, und diese Datenbankrolle darf keine anlegen. Als Administrator, und danach noch einmal npm run migrate: ${roles.map((role) => `create role ${role} nologin;`).join(' ')}`,
    facts.dienst_output &&
      `Läuft der Dienst mit einer Datenbankrolle aus portal_dienst, ${outputs}, bis der Administrator diese Gruppe in die andere aufnimmt: grant gis_public to portal_dienst;`,
    facts.output &&
      `Läuft der Dienst mit dieser Datenbankrolle, ${outputs}, bis der Administrator sie in die Gruppe aufnimmt: grant gis_public to ${facts.output};`,
    functions.length > 0 &&
      `PostGIS verrät jeder Rolle geschützte Orte und lässt sie den ganzen Server beenden, bis der Eigentümer der Erweiterung es verbietet: ${kept}revoke execute on function ${functions.join(', ')} from public;`,
    facts.open_schema &&
      'Jede Rolle darf im Schema public anlegen, was sie will, bis sein Eigentümer es verbietet: revoke create on schema public from public;',
    closing.length > 0 &&
      `Jede Rolle kann mit einer Verbindung den ganzen Server aufhalten und an dessen Zählern sehen, was andere für sich behalten, bis sein Administrator es in dieser Datenbank verbietet: ${closing.join('; ')};`,
    definitions.length > 0 &&
      `Wer auswertet, kann mit einer Definition (create rule …) den ganzen Server aufhalten, bis sein Administrator es in dieser Datenbank verbietet: ${definitions.join('; ')};`,
    // Taken from everybody by hand, and not given to both: the worker would ask for ever.
    !hasLocks &&
      queueless.length > 0 &&
      `Mails und andere Aufträge bleiben liegen, bis der Administrator in dieser Datenbank erlaubt, was sie brauchen: ${toQueue(queueless)};`,
    facts.unseen &&
      `Transaktionen, die ein Login für Auswertungen offen lässt, sieht der Dienst nicht und meldet sie nicht, bis ein Administrator es erlaubt: grant pg_read_all_stats to ${facts.unseen};`,
  ]);
}

const onlyTexts = (texts: (string | false | null)[]) => texts.filter((text) => typeof text === 'string');
