// What the database's administrator still has to do before analysts may log in.
import type { Sql } from './client.ts';

/** Lets the role of the service use the queue's tables, which are made after the functions. */
export async function grantWarteschlange(sql: Sql): Promise<void> {
  await sql`select api.grant_warteschlange()`;
}

/**
 * What sql/code/99_grants.sql could not do with the rights of the migrating role: one German sentence each, for the operator,
 * with the statement that does it. Empty when everything is in place.
 */
export async function listGrantWarnings(sql: Sql): Promise<string[]> {
  const [facts] = await sql<
    {
      roles: string[];
      functions: string[];
      open_schema: boolean;
      locks: string[];
      temporary: string | null;
      output: string | null;
    }[]
  >`
    select
      array_to_json(array(
        select r.name from unnest('{gis_public,gis_exact}'::text[]) r (name) where to_regrole(r.name) is null)) as roles,
      array_to_json(array(
        select p.oid::regprocedure::text
        from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where p.pronamespace = 'public'::regnamespace and a.grantee = 0 and a.privilege_type = 'EXECUTE'
          and p.proname in (
            '_postgis_index_extent', '_postgis_join_selectivity', '_postgis_selectivity', '_postgis_stats', 'st_estimatedextent')
        order by 1)) as functions,
      exists (
        select from pg_namespace n, aclexplode(n.nspacl) a
        where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE') as open_schema,
      array_to_json(array(select f::text from api.list_sperrende_funktion(public_only => true) f)) as locks,
      (select quote_ident(d.datname)
        from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
        where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'TEMPORARY') as temporary,
      case when to_regrole('gis_public') is not null and not api.is_ausgabe_erlaubt() then quote_ident(current_user) end as output`;
  const warnings: string[] = [];
  if (facts && facts.roles.length > 0) {
    warnings.push(
      `Für Auswertungen fehlen Rollen, und diese Datenbankrolle darf keine anlegen: ${facts.roles.map((role) => `create role ${role} nologin;`).join(' ')} Danach noch einmal: npm run migrate`,
    );
  }
  if (facts?.output) {
    warnings.push(
      `Karten und GIS-Programme (/ogc und was sonst neben /api/v2 steht) antworten mit 503, bis der Administrator diese Datenbankrolle in die Gruppe aufnimmt: grant gis_public to ${facts.output};`,
    );
  }
  if (facts && facts.functions.length > 0) {
    warnings.push(
      `PostGIS verrät jeder Rolle die Ausdehnung geschützter Orte, bis der Eigentümer der Erweiterung es verbietet: revoke execute on function ${facts.functions.join(', ')} from public;`,
    );
  }
  if (facts?.open_schema) {
    warnings.push(
      'Jede Rolle darf im Schema public anlegen, was sie will, bis sein Eigentümer es verbietet: revoke create on schema public from public;',
    );
  }
  if (facts && (facts.locks.length > 0 || facts.temporary !== null)) {
    // The service's own role keeps them: the queue and the import need them.
    const statements = [
      ...(facts.locks.length > 0
        ? [
            `grant execute on function ${facts.locks.join(', ')} to current_user`,
            `revoke execute on function ${facts.locks.join(', ')} from public`,
          ]
        : []),
      ...(facts.temporary !== null
        ? [
            `grant temporary on database ${facts.temporary} to current_user`,
            `revoke temporary on database ${facts.temporary} from public`,
          ]
        : []),
    ];
    warnings.push(
      `Jede Rolle kann mit einer Verbindung den ganzen Server aufhalten, bis sein Administrator es verbietet (statt current_user die Rolle dieses Dienstes): ${statements.join('; ')};`,
    );
  }
  return warnings;
}
