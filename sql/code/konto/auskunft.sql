-- What an account may have of its own (D7.1): everything that is stored about it, in pages by ascending id; and the links by which its owner
-- asks for that or has it erased (D7.3).

-- A moment as exports write it.
create or replace function private.to_zeit_text(zeitpunkt timestamptz)
  returns text
  language sql
  stable
  parallel safe
as $$
  select to_char(zeitpunkt at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

-- One account with all that is stored about it but sightings and what proves who somebody is: password and keys, of which only hashes are
-- there.
-- errors  NFUND
create or replace function api.get_nutzer_auskunft(id bigint)
  returns text
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_result text;
begin
  select json_build_object(
    'id', u.id, 'loginname', u.loginname, 'email', u.email, 'vorname', u.vorname, 'nachname', u.nachname,
    'anonymisiert', u.anonymisiert, 'status', u.status,
    'rollen', array(select r.rolle::text from portal.nutzer_rolle r where r.nutzer_id = u.id order by r.rolle::text),
    'artengruppenbeschraenkung', array(select a.gid from portal.nutzer_artengruppe a where a.nutzer_id = u.id order by a.gid),
    'mandantenbeschraenkung', array(
      select m.kuerzel from portal.nutzer_mandant x join portal.mandant m on m.id = x.mandant_id where x.nutzer_id = u.id order by m.kuerzel),
    'portal_name', u.portal_name, 'portal_url', u.portal_url, 'medien_lizenz', u.medien_lizenz,
    'angelegt', private.to_zeit_text(u.angelegt), 'selbst_registriert', u.registriert,
    'passwort_gesetzt', u.password_hash is not null,
    'mitteilungen', private.get_haeufigkeit(u.id),
    'mail_abgelehnt', (select private.to_zeit_text(m.abgelehnt) from portal.mitteilung m where m.nutzer_id = u.id),
    'noch_nicht_mitgeteilt', (select count(*) from portal.mitteilung_offen o where o.nutzer_id = u.id),
    'zugangsschluessel', (
      select coalesce(json_agg(json_build_object(
        'angelegt', private.to_zeit_text(t.angelegt), 'genutzt', private.to_zeit_text(t.genutzt)) order by t.angelegt), '[]')
      from portal.token t where t.nutzer_id = u.id),
    'links', (
      select coalesce(json_agg(json_build_object('zweck', l.zweck, 'angelegt', private.to_zeit_text(l.angelegt))), '[]')
      from (
        select 'Passwort', p.angelegt from portal.nutzer_link p where p.nutzer_id = u.id
        union all
        select 'eigene Daten', d.angelegt from portal.nutzer_daten_link d where d.nutzer_id = u.id
        union all
        select 'Beobachtung ' || s.sichtbeobachtung_id, s.angelegt from portal.sichtbeobachtung_link s where s.nutzer_id = u.id
      ) l (zweck, angelegt)),
    'netze', (
      select coalesce(json_agg(json_build_object('zuletzt', private.to_zeit_text(n.zuletzt)) order by n.zuletzt), '[]')
      from portal.nutzer_netz n where n.nutzer_id = u.id),
    'falsche_anmeldungen', (
      select coalesce(json_agg(json_build_object('seit', private.to_zeit_text(v.seit), 'anzahl', v.anzahl) order by v.seit), '[]')
      from portal.versuch v where v.zweck = 'login netz ' || u.id))::text
  into v_result
  from portal.nutzer u
  where u.id = get_nutzer_auskunft.id and u.loginname_key is not null;
  if not found then
    raise exception 'no such account' using errcode = 'NFUND';
  end if;
  return v_result;
end
$$;
comment on function api.get_nutzer_auskunft(bigint) is
  'All that is stored about an account, as JSON text, but its sightings and the hashes of password and keys';

-- Some sightings of an account, as it is shown them itself: at their true place, with everything that a detail has. No tenant is
-- addressed: species have the names that hold everywhere.
--   protokoll_limit  entries of its change log that come with each: a record may be changed as often as its owner likes, and all entries
--                    of one would be more than a statement has time for
-- returns  result: JSON array as text, with private.to_medium_text in it; zusatz: JSON array of the same length with what the interface
--          doesn't show; offen: JSON array of the same length, the entry after which api.list_auskunft_protokoll goes on with the record's
--          change log, null where that is whole; last_id: the record to go on after, null when none was left
create or replace function api.list_auskunft_sichtbeobachtung(
  nutzer_id bigint, after_id bigint, row_limit integer, protokoll_limit integer)
  returns table (result text, zusatz text, offen text, last_id bigint)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
declare
  v_ids bigint[] := array(
    select s.id from portal.sichtbeobachtung s
    where s.nutzer_id = list_auskunft_sichtbeobachtung.nutzer_id and s.id > after_id
    order by s.id
    limit row_limit);
begin
  last_id := v_ids[cardinality(v_ids)];
  result := '[' || coalesce(
    private.render_sichtbeobachtung(v_ids, null, list_auskunft_sichtbeobachtung.nutzer_id, detail => true), '') || ']';
  select coalesce(json_agg(json_build_object(
    'angelegt', private.to_zeit_text(s.angelegt), 'quelle', h.quelle, 'quelle_id', h.quelle_id,
    'bemerkung_ungekuerzt', g.bemerkung, 'medien_lizenz', s.medien_lizenz, 'protokoll', p.eintraege) order by s.id), '[]')::text,
    coalesce(json_agg(p.offen order by s.id), '[]')::text
  into zusatz, offen
  from portal.sichtbeobachtung s
  cross join lateral (
    select
      coalesce(json_agg(json_build_object('audit', e.audit, 'zeitpunkt', private.to_zeit_text(e.zeitpunkt)) order by e.id), '[]')
        as eintraege,
      case when count(*) = protokoll_limit then max(e.id) end as offen
    from (
      select o.* from portal.protokoll o
      where o.sichtbeobachtung_id = s.id
      order by o.id
      limit protokoll_limit) e) p
  left join portal.sichtbeobachtung_herkunft h on h.sichtbeobachtung_id = s.id
  left join portal.bemerkung_gekuerzt g on g.sichtbeobachtung_id = s.id
  where s.id = any (v_ids);
  return next;
end
$$;
comment on function api.list_auskunft_sichtbeobachtung(bigint, bigint, integer, integer) is
  'Some sightings of an account as its owner is shown them, what else is stored with them, and whose change log goes on: JSON arrays as text';

-- Some further entries of the change log of one sighting; none of somebody else's.
create or replace function api.list_auskunft_protokoll(nutzer_id bigint, sichtbeobachtung_id bigint, after_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
begin
  return query
  select coalesce(json_agg(json_build_object(
    'audit', p.audit, 'zeitpunkt', private.to_zeit_text(p.zeitpunkt)) order by p.id), '[]')::text, max(p.id)
  from (
    select o.* from portal.protokoll o
    where o.sichtbeobachtung_id = list_auskunft_protokoll.sichtbeobachtung_id and o.id > after_id
      and exists (
        select from portal.sichtbeobachtung s
        where s.id = list_auskunft_protokoll.sichtbeobachtung_id and s.nutzer_id = list_auskunft_protokoll.nutzer_id)
    order by o.id
    limit row_limit) p;
end
$$;
comment on function api.list_auskunft_protokoll(bigint, bigint, bigint, integer) is
  'Some entries of the change log of one sighting of an account: JSON array as text, and the entry to go on after';

-- Some entries of the QS log that are about an account.
--   als_experte  those that it decided, with the remark that it left; else those of its own sightings
create or replace function api.list_auskunft_qs(nutzer_id bigint, als_experte boolean, after_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
begin
  if als_experte then
    return query
    select coalesce(json_agg(json_build_object(
      'id', q.id, 'sichtbeobachtung_id', q.sichtbeobachtung_id, 'art', q.art, 'status', private.to_status_text(q.status),
      'zeitpunkt', private.to_zeit_text(q.zeitpunkt), 'bemerkung_experte', (
        select s.bemerkung_experte from portal.sichtbeobachtung s
        where s.id = q.sichtbeobachtung_id and s.experte_id = list_auskunft_qs.nutzer_id)) order by q.id), '[]')::text, max(q.id)
    from (
      select o.* from portal.qs o
      where o.experte_id = list_auskunft_qs.nutzer_id and o.id > after_id
      order by o.id
      limit row_limit) q;
  else
    return query
    select coalesce(json_agg(json_build_object(
      'id', q.id, 'sichtbeobachtung_id', q.sichtbeobachtung_id, 'art', q.art,
      'datum_beobachtung', to_char(q.datum_beobachtung, 'DD.MM.YYYY'), 'status', private.to_status_text(q.status),
      'zeitpunkt', private.to_zeit_text(q.zeitpunkt)) order by q.id), '[]')::text, max(q.id)
    from (
      select o.* from portal.qs o
      where o.nutzer_id = list_auskunft_qs.nutzer_id and o.id > after_id
      order by o.id
      limit row_limit) q;
  end if;
end
$$;
comment on function api.list_auskunft_qs(bigint, boolean, bigint, integer) is
  'Some entries of the QS log about the sightings of an account, or of what it decided: JSON array as text, and the entry to go on after';

-- How many records an account has, for whoever is about to erase it.
create or replace function api.count_nutzer_saetze(nutzer_id bigint)
  returns table (alle bigint, privat bigint)
  language sql
  stable
  rows 1
as $$
  select count(*), count(*) filter (where s.bereich = 'privat')
  from portal.sichtbeobachtung s
  where s.nutzer_id = count_nutzer_saetze.nutzer_id
$$;
comment on function api.count_nutzer_saetze(bigint) is 'How many sightings an account has, and how many of them nobody else is shown';

-- Stores a new link to the own data, unless the account's address is another one by now: the mail would go to somebody else.
--   email    where the mail goes
-- returns      false: no link; the address has changed, or the account is blocked
create or replace function api.set_nutzer_daten_link(nutzer_id bigint, hash bytea, email portal.kurztext)
  returns boolean
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform from portal.nutzer u
  where u.id = set_nutzer_daten_link.nutzer_id and u.status = 1 and u.email = set_nutzer_daten_link.email
  for share;
  if not found then
    return false;
  end if;
  insert into portal.nutzer_daten_link as l (nutzer_id, hash)
  values (set_nutzer_daten_link.nutzer_id, set_nutzer_daten_link.hash)
  on conflict on constraint nutzer_daten_link_pkey do update set hash = excluded.hash, angelegt = now(), geholt = false;
  return true;
end
$$;
comment on function api.set_nutzer_daten_link(bigint, bytea, portal.kurztext) is
  'Stores the SHA-256 of a link to the own data to be mailed to this address, which must be the account''s; its earlier link ends';

-- The account of a link to the own data that is still good. No row for one that is unknown, used or older than a day.
create or replace function api.get_nutzer_daten_link(hash bytea)
  returns table (nutzer_id bigint, loginname text, geholt boolean)
  language sql
  stable
  rows 1
as $$
  select u.id, u.loginname, l.geholt
  from portal.nutzer_daten_link l
  join portal.nutzer u on u.id = l.nutzer_id
  where l.hash = get_nutzer_daten_link.hash and l.angelegt >= now() - interval '1 day' and u.status = 1
$$;
comment on function api.get_nutzer_daten_link(bytea) is 'Account of a link to the own data, and whether these were fetched by it; no row when it is not good any more';

-- Fetches the own data by a link, once.
-- returns  the account; null when the link is not good any more, or the data were fetched by it
create or replace function api.use_nutzer_daten_link(hash bytea)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_id bigint;
begin
  update portal.nutzer_daten_link l set geholt = true
  from portal.nutzer u
  where l.hash = use_nutzer_daten_link.hash and l.angelegt >= now() - interval '1 day' and not l.geholt
    and u.id = l.nutzer_id and u.status = 1
  returning l.nutzer_id into v_id;
  return v_id;
end
$$;
comment on function api.use_nutzer_daten_link(bytea) is 'Account whose data may be fetched by a link, which does so once; null when it does not';

-- Has an account erased by its link, as api.set_nutzer_loeschung does, which ends the link.
--   loginname  typed to confirm it: in any spelling that logs in
-- returns      the account; null when the link is not good any more
-- errors       NTZUN it is not the name of this account; LADMN the last active administrator; nothing was changed
create or replace function api.use_nutzer_loesch_link(hash bytea, saetze portal.kurztext, loginname portal.kurztext)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_link record;
begin
  -- In the order of everyone who changes accounts; what is asked of the link is asked under the lock.
  perform private.require_account_lock();
  select * into v_link from api.get_nutzer_daten_link(use_nutzer_loesch_link.hash) l;
  if not found then
    return null;
  end if;
  if private.to_account_key(use_nutzer_loesch_link.loginname) is distinct from private.to_account_key(v_link.loginname) then
    raise exception 'not the name of this account' using errcode = 'NTZUN';
  end if;
  perform api.set_nutzer_loeschung(v_link.nutzer_id, saetze);
  return v_link.nutzer_id;
end
$$;
comment on function api.use_nutzer_loesch_link(bytea, portal.kurztext, portal.kurztext) is
  'Begins the erasure of the account that a link to the own data belongs to, confirmed by its login name; null when the link is not good any more';
