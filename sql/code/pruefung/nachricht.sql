-- Questions of reviewers and answers of recorders (O6): the thread of a record, and the page behind the link in a mail.

-- Adds what a reviewer asks with status hinweis to the thread of a record, and has it mailed within minutes, however often its recorder wants
-- to be told of decisions. A request that is sent again asks nothing twice.
create or replace function private.create_frage(sichtbeobachtung_id bigint, reader bigint, text text)
  returns void
  language sql
  volatile
as $$
  with frage as (
    insert into portal.nachricht (sichtbeobachtung_id, nutzer_id, text)
    select create_frage.sichtbeobachtung_id, create_frage.reader, create_frage.text
    where create_frage.text is distinct from (
      select n.text from portal.nachricht n
      where n.sichtbeobachtung_id = create_frage.sichtbeobachtung_id
      order by n.id desc
      limit 1)
    returning sichtbeobachtung_id
  )
  select private.set_mitteilung_offen(s, 'sofort') from frage f join portal.sichtbeobachtung s on s.id = f.sichtbeobachtung_id
$$;

-- The thread of a record, oldest first, for whoever is in charge of it and for its recorder.
create or replace function private.list_nachricht(id bigint)
  returns json
  language sql
  stable
as $$
  select coalesce(json_agg(json_build_object(
    'von', case when n.nutzer_id = s.nutzer_id then 'erfasser' else 'experte' end,
    'text', n.text, 'zeitpunkt', private.to_zeit_text(n.zeitpunkt)) order by n.id), '[]')
  from portal.nachricht n
  join portal.sichtbeobachtung s on s.id = n.sichtbeobachtung_id
  where n.sichtbeobachtung_id = list_nachricht.id
$$;

-- The thread of a record, whatever became of it, as JSON text.
-- returns  null: there is no such record, or not for this reader
-- errors   NRCHT neither the recorder nor in charge of it
create or replace function api.list_nachricht(reader bigint, id bigint)
  returns text
  language plpgsql
  stable
as $$
declare
  v_record portal.sichtbeobachtung;
begin
  select s.* into v_record from portal.sichtbeobachtung s where s.id = list_nachricht.id;
  if not found or not private.is_visible(v_record.bereich, v_record.status, v_record.nutzer_id, reader) then
    return null;
  elsif v_record.nutzer_id <> reader
    and not private.is_zustaendig(private.get_zustaendigkeit(reader, entscheiden => true), v_record.id, v_record.gid) then
    raise exception 'neither the recorder nor in charge of the record' using errcode = 'NRCHT';
  end if;
  return private.list_nachricht(v_record.id)::text;
end
$$;
comment on function api.list_nachricht(bigint, bigint) is
  'Questions about a record and their answers, as JSON text, for its recorder and whoever is in charge of it; null when there is none';

create or replace function private.is_frage_offen(sichtbeobachtung portal.sichtbeobachtung)
  returns boolean
  language sql
  immutable
as $$
  select sichtbeobachtung.bereich = 'oeffentlich' and sichtbeobachtung.status = 'hinweis'
$$;

-- The question that waits for an answer of the recorder; null: nothing is asked.
create or replace function private.get_frage(sichtbeobachtung portal.sichtbeobachtung)
  returns text
  language sql
  stable
as $$
  select l.text
  from (
    select n.text, n.nutzer_id from portal.nachricht n where n.sichtbeobachtung_id = sichtbeobachtung.id order by n.id desc limit 1) l
  where private.is_frage_offen(sichtbeobachtung) and l.nutzer_id is distinct from sichtbeobachtung.nutzer_id
$$;

-- Stores links to records of an account that are mailed to this address, unless it is another one by now.
--   hashes  SHA-256 of each, in hexadecimal digits
-- returns     false: no links; the address has changed, or the account is blocked
create or replace function api.create_sichtbeobachtung_link(nutzer_id bigint, email portal.kurztext, id bigint[], hashes portal.kurztexte)
  returns boolean
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform from portal.nutzer u
  where u.id = create_sichtbeobachtung_link.nutzer_id and u.status = 1 and u.email = create_sichtbeobachtung_link.email
  for share;
  if not found then
    return false;
  end if;
  insert into portal.sichtbeobachtung_link (hash, sichtbeobachtung_id, nutzer_id)
  select decode(l.hash, 'hex'), s.id, s.nutzer_id
  from rows from (unnest(create_sichtbeobachtung_link.id), unnest(hashes)) l (id, hash)
  join portal.sichtbeobachtung s on s.id = l.id and s.nutzer_id = create_sichtbeobachtung_link.nutzer_id;
  return true;
end
$$;
comment on function api.create_sichtbeobachtung_link(bigint, portal.kurztext, bigint[], portal.kurztexte) is
  'Stores the SHA-256 of links to records to be mailed to this address, which must be the account''s';

-- The record of a link that is still good: younger than 30 days, of an account that is not blocked and still has the record.
create or replace function private.get_sichtbeobachtung_link(hash bytea)
  returns bigint
  language sql
  stable
as $$
  select l.sichtbeobachtung_id
  from portal.sichtbeobachtung_link l
  join portal.nutzer u on u.id = l.nutzer_id
  join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id and s.nutzer_id = l.nutzer_id
  where l.hash = get_sichtbeobachtung_link.hash and l.angelegt >= now() - interval '30 days' and u.status = 1
$$;

-- The record of a link as its recorder is shown it, with its thread.
--   tenant  the addressed tenant
-- returns     satz: JSON text with private.to_medium_text in it; lat, lon: degrees; no row when the link is not good any more
create or replace function api.get_sichtbeobachtung_of_link(tenant integer, hash bytea)
  returns table (nutzer_id bigint, satz text, lat float8, lon float8, nachrichten text, offen boolean)
  language sql
  stable
  rows 1
as $$
  select s.nutzer_id, private.render_sichtbeobachtung(array[s.id], tenant, s.nutzer_id, detail => true),
    public.st_y(p.grad), public.st_x(p.grad), private.list_nachricht(s.id)::text, private.is_frage_offen(s)
  from portal.sichtbeobachtung s
  cross join lateral (select ausgabe.to_lonlat(s.point)) p (grad)
  where s.id = private.get_sichtbeobachtung_link(get_sichtbeobachtung_of_link.hash)
$$;
comment on function api.get_sichtbeobachtung_of_link(integer, bytea) is
  'A record as its recorder is shown it by the link of a mail, with the thread; no row when the link is not good any more';

-- Answers the question about the record of a link, which puts it back into review.
-- returns  null: done; else why not: link (not good any more), entschieden
create or replace function api.create_antwort(hash bytea, text portal.bemerkung)
  returns text
  language plpgsql
  volatile
as $$
#variable_conflict use_variable
declare
  v_record portal.sichtbeobachtung;
begin
  -- Before the row, in the order of everyone who takes both. What is asked of the link is asked behind it.
  perform private.require_catalogue_lock(exclusive => false);
  perform from portal.sichtbeobachtung s where s.id = private.get_sichtbeobachtung_link(create_antwort.hash) for no key update;
  select s.* into v_record from portal.sichtbeobachtung s where s.id = private.get_sichtbeobachtung_link(create_antwort.hash);
  if not found then
    return 'link';
  elsif not private.is_frage_offen(v_record) then
    return 'entschieden';
  end if;
  insert into portal.nachricht (sichtbeobachtung_id, nutzer_id, text) values (v_record.id, v_record.nutzer_id, create_antwort.text);
  update portal.sichtbeobachtung s set status = 'pruefung', experte_id = null where s.id = v_record.id;
  return null;
end
$$;
comment on function api.create_antwort(bytea, portal.bemerkung) is
  'Answers the question about the record of a link and puts it back into review; null, or why nothing was changed';

-- Some messages for an account's own data: all about its records, and what it wrote about others'.
create or replace function api.list_auskunft_nachricht(nutzer_id bigint, after_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language sql
  stable
  rows 1
as $$
  select coalesce(json_agg(json_build_object(
    'sichtbeobachtung_id', n.sichtbeobachtung_id,
    'von', case when n.nutzer_id = s.nutzer_id then 'erfasser' else 'experte' end, 'text', n.text,
    'zeitpunkt', private.to_zeit_text(n.zeitpunkt)) order by n.id), '[]')::text, max(n.id)
  from (
    (
      select o.* from portal.nachricht o
      where o.nutzer_id = list_auskunft_nachricht.nutzer_id and o.id > after_id
      order by o.id limit row_limit)
    union
    (
      select o.* from portal.nachricht o
      join portal.sichtbeobachtung r on r.id = o.sichtbeobachtung_id
      where r.nutzer_id = list_auskunft_nachricht.nutzer_id and o.id > after_id
      order by o.id limit row_limit)
    order by id
    limit row_limit) n
  join portal.sichtbeobachtung s on s.id = n.sichtbeobachtung_id
$$;
comment on function api.list_auskunft_nachricht(bigint, bigint, integer) is
  'Some messages about the records of an account, or that it wrote: JSON array as text, and the message to go on after';
