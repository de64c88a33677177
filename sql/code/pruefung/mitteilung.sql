-- Mails to recorders (O6): how often they want them, what they have yet to be told, and what a mail may say.

-- How often an account wants mails: sofort, taeglich, woechentlich, nie.
create or replace function private.get_haeufigkeit(nutzer_id bigint)
  returns text
  language sql
  stable
as $$
  select coalesce((
    select case when m.abgelehnt is null then m.haeufigkeit else 'nie' end
    from portal.mitteilung m
    where m.nutzer_id = get_haeufigkeit.nutzer_id), 'woechentlich')
$$;

-- Whether an account gets such mails at all.
create or replace function private.is_erreichbar(nutzer_id bigint)
  returns boolean
  language sql
  stable
as $$
  select private.get_haeufigkeit(is_erreichbar.nutzer_id) <> 'nie'
    and exists (select from portal.nutzer u where u.id = is_erreichbar.nutzer_id and u.status = 1 and u.email_key is not null)
$$;

-- Whether a server refused the address of an account for good.
create or replace function private.is_mail_abgelehnt(nutzer_id bigint)
  returns boolean
  language sql
  stable
as $$
  select exists (select from portal.mitteilung m where m.nutzer_id = is_mail_abgelehnt.nutzer_id and m.abgelehnt is not null)
$$;

-- When what happens now is told: after some minutes, in which a batch of decisions ends; or at seven in the morning of the next day or Monday.
create or replace function private.to_faellig(haeufigkeit text, zeitpunkt timestamptz)
  returns timestamptz
  language sql
  stable
as $$
  select case haeufigkeit
    when 'nie' then zeitpunkt
    when 'sofort' then zeitpunkt + interval '3 minutes'
    else (
      date_trunc(case haeufigkeit when 'taeglich' then 'day' else 'week' end, zeitpunkt at time zone 'Europe/Berlin' - interval '7 hours')
      + case haeufigkeit when 'taeglich' then interval '1 day' else interval '7 days' end + interval '7 hours') at time zone 'Europe/Berlin' end
$$;

-- Notes that the recorder of a record has to be told of it at this pace, unless they want no mails.
create or replace function private.set_mitteilung_offen(sichtbeobachtung portal.sichtbeobachtung, haeufigkeit text)
  returns void
  language sql
  volatile
as $$
  insert into portal.mitteilung_offen (sichtbeobachtung_id, nutzer_id, faellig)
  select sichtbeobachtung.id, sichtbeobachtung.nutzer_id, private.to_faellig(set_mitteilung_offen.haeufigkeit, now())
  where private.is_erreichbar(sichtbeobachtung.nutzer_id)
  on conflict on constraint mitteilung_offen_pkey do update set faellig = excluded.faellig, mail = null
$$;

-- Notes that a recorder has to be told of a decision, by whatever way it was made.
create or replace function private.sichtbeobachtung_after_decision()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.set_mitteilung_offen(new, private.get_haeufigkeit(new.nutzer_id));
  return null;
end
$$;

-- The species in a mail, which passes through foreign hands: null for a record that any tenant or its recorder protects.
create or replace function private.to_mail_art(sichtbeobachtung portal.sichtbeobachtung)
  returns text
  language sql
  stable
as $$
  select coalesce(a.name_deutsch, a.name_wissenschaftlich)
  from portal.art a
  where a.id = sichtbeobachtung.art and sichtbeobachtung.schutz = 0
$$;

-- The tenant in whose name a mail about these records is sent: that of most of them. Null when none of them lies in one.
create or replace function private.get_mail_mandant(id bigint[])
  returns integer
  language sql
  stable
as $$
  select mode() within group (order by l.mandant_id)
  from portal.mandant_sichtbeobachtung l
  join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id
  -- A protected record near a border belongs to all that its cell touches: a mail must not say on which side it lies.
  where l.sichtbeobachtung_id = any (get_mail_mandant.id) and (l.exakt or s.schutz > 0)
$$;

create or replace function api.get_haeufigkeit(reader bigint)
  returns text
  language sql
  stable
as $$
  select private.get_haeufigkeit(reader)
$$;
comment on function api.get_haeufigkeit(bigint) is 'How often an account wants mails: sofort, taeglich, woechentlich, nie';

-- Sets how often an account wants mails, which also takes back that its address was refused. What waits is told by the new rule, questions
-- by their own.
-- returns  false when there is no such account, or it is blocked
create or replace function api.set_haeufigkeit(reader bigint, haeufigkeit portal.kurztext)
  returns boolean
  language plpgsql
  volatile
as $$
#variable_conflict use_variable
begin
  perform from portal.nutzer u where u.id = reader and u.status = 1 for share;
  if not found then
    return false;
  end if;
  insert into portal.mitteilung as m (nutzer_id, haeufigkeit) values (reader, haeufigkeit)
  on conflict on constraint mitteilung_pkey do update set haeufigkeit = excluded.haeufigkeit, abgelehnt = null;
  update portal.mitteilung_offen o
  set faellig = private.to_faellig(case when private.get_frage(s) is null then haeufigkeit else 'sofort' end, now())
  from portal.sichtbeobachtung s
  where s.id = o.sichtbeobachtung_id and o.sichtbeobachtung_id = any (private.list_mitteilung_offen(reader, null));
  return true;
end
$$;
comment on function api.set_haeufigkeit(bigint, portal.kurztext) is 'Sets how often an account wants mails; false: no such account, or it is blocked';

-- The same by a link to the own data.
-- returns  false when the link is not good any more
create or replace function api.set_haeufigkeit_of_link(hash bytea, haeufigkeit portal.kurztext)
  returns boolean
  language sql
  volatile
as $$
  select coalesce((
    select api.set_haeufigkeit(l.nutzer_id, set_haeufigkeit_of_link.haeufigkeit) from api.get_nutzer_daten_link(set_haeufigkeit_of_link.hash) l), false)
$$;
comment on function api.set_haeufigkeit_of_link(bytea, portal.kurztext) is
  'Sets how often the account of a link to the own data wants mails; false when the link is not good any more';

-- Notes that a server refused an account's address for good: no mails until the account changes the setting or the address.
create or replace function api.set_mail_abgelehnt(nutzer_id bigint, email portal.kurztext)
  returns void
  language sql
  volatile
as $$
  insert into portal.mitteilung as m (nutzer_id, abgelehnt)
  select u.id, now() from portal.nutzer u where u.id = set_mail_abgelehnt.nutzer_id and u.email = set_mail_abgelehnt.email
  on conflict on constraint mitteilung_pkey do update set abgelehnt = excluded.abgelehnt
$$;
comment on function api.set_mail_abgelehnt(bigint, portal.kurztext) is 'Notes that a server refused this address of an account for good, if it still is the account''s';

-- Records that a mail tells, null: that no mail tells yet; locked, without those that are just being decided.
create or replace function private.list_mitteilung_offen(nutzer_id bigint, mail uuid)
  returns bigint[]
  language sql
  volatile
as $$
  select array(
    select o.sichtbeobachtung_id from portal.mitteilung_offen o
    where o.nutzer_id = list_mitteilung_offen.nutzer_id and o.mail is not distinct from list_mitteilung_offen.mail
    for update skip locked)
$$;

create or replace function api.list_mitteilung_faellig()
  returns bigint[]
  language sql
  stable
as $$
  select array(
    select o.nutzer_id from portal.mitteilung_offen o where o.mail is null and o.faellig <= now() group by o.nutzer_id limit 1000)
$$;
comment on function api.list_mitteilung_faellig() is 'Accounts that are to be told of questions and decisions now';

-- Takes what an account has yet to be told for a mail: all decisions, and as many questions as a mail has lines for.
-- returns  no row: there is nothing to tell, or nobody to mail
create or replace function api.set_mitteilung_mail(nutzer_id bigint)
  returns table (mail uuid, mandant_id integer)
  language plpgsql
  volatile
  rows 1
as $$
#variable_conflict use_column
declare
  v_ids bigint[] := private.list_mitteilung_offen(nutzer_id, null);
begin
  if not private.is_erreichbar(nutzer_id) then
    delete from portal.mitteilung_offen o where o.sichtbeobachtung_id = any (v_ids);
    return;
  end if;
  mail := gen_random_uuid();
  update portal.mitteilung_offen o
  set mail = set_mitteilung_mail.mail
  where o.sichtbeobachtung_id = any (v_ids)
    -- A question is never one of the others that a mail only counts: it waits for the next mail.
    and o.sichtbeobachtung_id <> all (array(
      select s.id from portal.sichtbeobachtung s where s.id = any (v_ids) and private.get_frage(s) is not null order by s.id offset 50));
  if found then
    mandant_id := private.get_mail_mandant(v_ids);
    return next;
  end if;
end
$$;
comment on function api.set_mitteilung_mail(bigint) is
  'Takes what an account has yet to be told for a mail, of the tenant of most of the records; no row when there is nothing to mail';

-- What a mail tells: how many records were decided how, and the latest of them; first those that something is asked about.
-- returns  null: nothing, or the account wants no mails any more
create or replace function api.get_mitteilung(nutzer_id bigint, mail uuid, row_limit integer)
  returns text
  language sql
  stable
as $$
  with gesagt as (
    select s.id, s.datum, s.status, private.to_mail_art(s) as art, private.get_frage(s) as frage
    from portal.mitteilung_offen o
    join portal.sichtbeobachtung s on s.id = o.sichtbeobachtung_id
    where o.nutzer_id = get_mitteilung.nutzer_id and o.mail = get_mitteilung.mail and s.bereich = 'oeffentlich' and s.status <> 'pruefung'
  )
  select json_build_object(
    'haeufigkeit', private.get_haeufigkeit(get_mitteilung.nutzer_id),
    'anzahl', (select json_object_agg(a.status, a.anzahl) from (select g.status, count(*) as anzahl from gesagt g group by g.status) a),
    'fragen', (select count(*) from gesagt g where g.frage is not null),
    'eintraege', (
      select json_agg(json_build_object(
        'id', e.id, 'datum', to_char(e.datum, 'DD.MM.YYYY'), 'art', e.art, 'status', e.status,
        'frage', case when e.art is not null then e.frage end) order by e.position)
      from (
        select g.*, row_number() over (order by g.frage is null, g.status <> 'hinweis', g.datum desc, g.id) as position
        from gesagt g
        order by position
        limit row_limit) e))::text
  where exists (select from gesagt) and private.is_erreichbar(get_mitteilung.nutzer_id)
$$;
comment on function api.get_mitteilung(bigint, uuid, integer) is
  'What a mail tells of questions and decisions, as JSON text, of protected records without species and question; null for nothing';

create or replace function api.delete_mitteilung(nutzer_id bigint, mail uuid)
  returns void
  language sql
  volatile
as $$
  delete from portal.mitteilung_offen o
  where o.sichtbeobachtung_id = any (private.list_mitteilung_offen(delete_mitteilung.nutzer_id, delete_mitteilung.mail))
$$;
comment on function api.delete_mitteilung(bigint, uuid) is 'Forgets what a mail has told';
