-- Erasing accounts (D7.1, D7.2), and what goes by itself when its time is over (D7.4).
--
-- In three steps, because an account may have a hundred thousand records: in one transaction they kept reviews and the feed for mirrors
-- waiting for minutes. The first step shuts the account out, the second one goes through its records, some at a time, and the third one leaves
-- nothing of the person. Each may be repeated: an account that was shut out is gone on with where it was broken off.

-- The first step: shuts an account out and remembers that it is to be erased. Its keys, links, roles and counts go at once; its name
-- stays until the third step, because it is looked for in remarks.
--   saetze  behalten: published records stay without the person, the others go; loeschen: all go
-- errors    NFUND no such account; LADMN the last active administrator
create or replace function api.set_nutzer_loeschung(id bigint, saetze portal.kurztext)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_nutzer portal.nutzer;
begin
  perform private.require_account_lock();
  select u.* into v_nutzer from portal.nutzer u
  where u.id = set_nutzer_loeschung.id and u.loginname_key is not null
  -- Not for update: an import that goes on has records of it.
  for no key update;
  if not found then
    raise exception 'no such account' using errcode = 'NFUND';
  end if;
  perform private.require_other_administrator(v_nutzer.id);
  -- The counts of wrong passwords go by the name, so before anything else.
  perform private.delete_login_versuch(v_nutzer.id);
  -- With it go all keys and links (private.nutzer_after_update).
  update portal.nutzer u set loeschung = saetze, status = 0, password_hash = null where u.id = v_nutzer.id;
  delete from portal.nutzer_rolle r where r.nutzer_id = v_nutzer.id;
  delete from portal.nutzer_artengruppe a where a.nutzer_id = v_nutzer.id;
  delete from portal.nutzer_mandant m where m.nutzer_id = v_nutzer.id;
  delete from portal.nutzer_netz n where n.nutzer_id = v_nutzer.id;
  delete from portal.mitteilung m where m.nutzer_id = v_nutzer.id;
  delete from portal.entscheidung e where e.nutzer_id = v_nutzer.id;
  update portal.bestaetigung b set experte_id = null where b.experte_id = v_nutzer.id;
  delete from portal.mitteilung_offen o where o.nutzer_id = v_nutzer.id;
  -- Those that are counted for a network too can't be told from others; they go with their window.
  delete from portal.versuch v
  using (values
    ('email konto', v_nutzer.id::text), ('dateien konto', v_nutzer.id::text),
    ('mail postfach aller', v_nutzer.email_key)) k (zweck, schluessel)
  where v.zweck = k.zweck and v.schluessel = private.to_versuch_key(k.zweck, k.schluessel);
end
$$;
comment on function api.set_nutzer_loeschung(bigint, portal.kurztext) is
  'Shuts an account out that is to be erased, with its published records kept (behalten) or all of them deleted (loeschen)';

-- What names a person in a remark, as a regular expression: first and last name next to each other, in either order, and the address.
-- Not one name alone, nor the login name: those may be words. Null when there is nothing to look for.
create or replace function private.to_namensmuster(nutzer portal.nutzer)
  returns text
  language sql
  immutable
as $$
  select '(?<![[:alnum:]])(?:' || string_agg(t.muster, '|') || ')(?![[:alnum:]])'
  from (
    select regexp_replace(regexp_replace(btrim(k.text), '([]\\.*+?^${}()|[])', '\\\1', 'g'), '\s+', '\\s+', 'g') as muster
    from (
      select nutzer.email
      union all
      select t.name
      from (values (nutzer.vorname || ' ' || nutzer.nachname), (nutzer.nachname || ' ' || nutzer.vorname),
        (nutzer.nachname || ', ' || nutzer.vorname)) t (name)
      where length(btrim(nutzer.vorname)) > 1 and length(btrim(nutzer.nachname)) > 1
    ) k (text)
    where btrim(k.text) <> ''
  ) t
$$;

-- A remark without what names the person. The mark is no longer than the shortest name, so that no remark becomes too long.
create or replace function private.to_bemerkung_ohne(bemerkung text, muster text)
  returns text
  language sql
  immutable
as $$
  select regexp_replace(bemerkung, muster, '[…]', 'gi')
$$;

-- The second step: goes through some records of an account that is being erased, by ascending id. Those that nobody could be shown any
-- more go in either case. The triggers do what belongs to it: logs, what analysts read, files to be removed, the feed for mirrors.
--   after_id   the record to go on after; 0 at first
-- returns      the last one, null when none was left
create or replace function api.delete_nutzer_saetze(id bigint, after_id bigint, row_limit integer)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_nutzer portal.nutzer;
  v_muster text;
  v_ids bigint[];
begin
  -- Before any row, in the order of everyone who takes both.
  perform private.require_catalogue_lock(exclusive => false);
  select u.* into v_nutzer from portal.nutzer u
  where u.id = delete_nutzer_saetze.id and u.loeschung is not null and u.loginname_key is not null;
  v_ids := array(
    select s.id from portal.sichtbeobachtung s
    where s.nutzer_id = v_nutzer.id and s.id > after_id
    order by s.id
    limit row_limit
    for update);
  if cardinality(v_ids) = 0 then
    return null;
  end if;
  delete from portal.sichtbeobachtung s
  where s.id = any (v_ids) and (v_nutzer.loeschung = 'loeschen' or s.bereich = 'privat');
  delete from portal.bemerkung_gekuerzt g
  where g.sichtbeobachtung_id = any (v_ids) and not exists (select from portal.sichtbeobachtung s where s.id = g.sichtbeobachtung_id);
  v_muster := private.to_namensmuster(v_nutzer);
  update portal.sichtbeobachtung s
  set bemerkung = private.to_bemerkung_ohne(s.bemerkung, v_muster),
    bemerkung_experte = private.to_bemerkung_ohne(s.bemerkung_experte, v_muster)
  where s.id = any (v_ids) and (s.bemerkung ~* v_muster or s.bemerkung_experte ~* v_muster);
  update portal.bemerkung_gekuerzt g
  set bemerkung = private.to_bemerkung_ohne(g.bemerkung, v_muster),
    bemerkung_experte = private.to_bemerkung_ohne(g.bemerkung_experte, v_muster)
  where g.sichtbeobachtung_id = any (v_ids) and (g.bemerkung ~* v_muster or g.bemerkung_experte ~* v_muster);
  update portal.nachricht n set text = private.to_bemerkung_ohne(n.text, v_muster)
  where n.sichtbeobachtung_id = any (v_ids) and n.text ~* v_muster;
  return v_ids[cardinality(v_ids)];
end
$$;
comment on function api.delete_nutzer_saetze(bigint, bigint, integer) is
  'Deletes some records of an account that is being erased, or takes its name out of their remarks; returns the last one, null when none was left';

-- The third step: nothing of the person is left. The row goes, unless a record names its number: then it stays as a number without
-- anything else.
-- returns  false when there are records that the second step has to go through: some were stored by what was under way when the account
--          was shut out
create or replace function api.delete_nutzer(id bigint)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_nutzer portal.nutzer;
begin
  perform private.require_catalogue_lock(exclusive => false);
  -- Waits for records of it that are being stored, and keeps others from it.
  select u.* into v_nutzer from portal.nutzer u
  where u.id = delete_nutzer.id and u.loeschung is not null and u.loginname_key is not null
  for update;
  if not found then
    return true;
  end if;
  if exists (
    select from portal.sichtbeobachtung s
    where s.nutzer_id = v_nutzer.id and (v_nutzer.loeschung = 'loeschen' or s.bereich = 'privat')) then
    return false;
  end if;
  if exists (select from portal.sichtbeobachtung s where s.nutzer_id = v_nutzer.id)
    or exists (select from portal.sichtbeobachtung s where s.experte_id = v_nutzer.id) then
    -- Not even since when there was the account.
    update portal.nutzer u
    set loginname = null, email = null, vorname = null, nachname = null, portal_name = null, portal_url = null, anonymisiert = 0,
      registriert = false, medien_lizenz = null, angelegt = now()
    where u.id = v_nutzer.id;
  else
    delete from portal.nutzer u where u.id = v_nutzer.id;
  end if;
  return true;
end
$$;
comment on function api.delete_nutzer(bigint) is
  'Ends the erasure of an account whose records were gone through: nothing of the person is left; false when there are records again';

create or replace function api.list_nutzer_loeschung()
  returns bigint[]
  language sql
  stable
as $$
  select array(
    select u.id from portal.nutzer u where u.loeschung is not null and u.loginname_key is not null order by u.id limit 1000)
$$;
comment on function api.list_nutzer_loeschung() is 'Accounts whose erasure was begun and has not come to its end';

-- Removes what is past its time, some rows of each kind at once.
--   ttl_days           lifetime of an access key after its last use (TOKEN_TTL_DAYS)
--   versuch_days       how long counted attempts stay (KEEP_ATTEMPTS_DAYS)
--   netz_days          how long a network stays known from which somebody logged in (KEEP_NETWORKS_DAYS)
--   unbestaetigt_days  how long a registration stays whose link nobody used (KEEP_UNCONFIRMED_DAYS)
-- returns                whether there may be more
create or replace function api.sweep_konto(
  ttl_days integer, versuch_days integer, netz_days integer, unbestaetigt_days integer, row_limit integer)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_count bigint;
  v_more boolean := false;
begin
  delete from portal.versuch v
  where (v.zweck, v.schluessel) in (
    select o.zweck, o.schluessel from portal.versuch o
    where o.seit < now() - make_interval(days => versuch_days)
    limit row_limit
    for update skip locked);
  get diagnostics v_count = row_count;
  v_more := v_count >= row_limit;

  delete from portal.token t
  where t.hash in (
    select o.hash from portal.token o
    where o.genutzt < now() - make_interval(days => ttl_days)
    limit row_limit
    for update skip locked);
  get diagnostics v_count = row_count;
  v_more := v_more or v_count >= row_limit;

  delete from portal.nutzer_netz n
  where (n.nutzer_id, n.netz) in (
    select o.nutzer_id, o.netz from portal.nutzer_netz o
    where o.zuletzt < now() - make_interval(days => netz_days)
    limit row_limit
    for update skip locked);
  get diagnostics v_count = row_count;
  v_more := v_more or v_count >= row_limit;

  delete from portal.entscheidung e
  where (e.nutzer_id, e.schluessel, e.sichtbeobachtung_id) in (
    select o.nutzer_id, o.schluessel, o.sichtbeobachtung_id from portal.entscheidung o
    where o.zeitpunkt < now() - interval '7 days'
    limit row_limit
    for update skip locked);
  get diagnostics v_count = row_count;
  v_more := v_more or v_count >= row_limit;

  -- One for each account, and none lives longer: few.
  delete from portal.nutzer_link l where l.angelegt < now() - interval '7 days';
  delete from portal.nutzer_daten_link l where l.angelegt < now() - interval '1 day';
  delete from portal.nutzer_reservierung r where r.angelegt < now() - interval '7 days';

  delete from portal.sichtbeobachtung_link l
  where l.hash in (
    select o.hash from portal.sichtbeobachtung_link o
    where o.angelegt < now() - interval '30 days'
    limit row_limit
    for update skip locked);
  get diagnostics v_count = row_count;
  v_more := v_more or v_count >= row_limit;

  -- What a mail would have told that was given up.
  delete from portal.mitteilung_offen m
  where m.sichtbeobachtung_id in (
    select o.sichtbeobachtung_id from portal.mitteilung_offen o
    where o.mail is not null and o.faellig < now() - interval '30 days'
    limit row_limit
    for update skip locked);
  get diagnostics v_count = row_count;
  v_more := v_more or v_count >= row_limit;

  -- Whoever was given a role before the link was used is expected; who is blocked shall not register again.
  delete from portal.nutzer u
  where u.id in (
    select o.id from portal.nutzer o
    where o.registriert and o.password_hash is null and o.status = 1
      and o.angelegt < now() - make_interval(days => unbestaetigt_days)
      and not exists (select from portal.nutzer_rolle r where r.nutzer_id = o.id)
      and not exists (select from portal.sichtbeobachtung s where s.nutzer_id = o.id)
    limit row_limit
    for update skip locked);
  get diagnostics v_count = row_count;
  v_more := v_more or v_count >= row_limit;

  -- What a deleted record said belongs to nobody any more.
  delete from portal.bemerkung_gekuerzt g
  where g.sichtbeobachtung_id in (
    select o.sichtbeobachtung_id from portal.bemerkung_gekuerzt o
    where not exists (select from portal.sichtbeobachtung s where s.id = o.sichtbeobachtung_id)
    limit row_limit);
  get diagnostics v_count = row_count;
  return v_more or v_count >= row_limit;
end
$$;
comment on function api.sweep_konto(integer, integer, integer, integer, integer) is
  'Removes some of the counted attempts, access keys, networks, keys of decisions, links, reservations and unconfirmed registrations that are past their time; true when there may be more';
