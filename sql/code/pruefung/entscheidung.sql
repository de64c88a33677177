-- Decisions of reviewers (O6): each in a transaction of its own, so that the feed never waits for many.

-- Changes with every change of a record. Begins with a letter, so that no spreadsheet takes it for a number. A number of a transaction, hashed: it would tell how much is written.
create or replace function private.to_stand(id bigint, xmin xid)
  returns text
  language sql
  stable
as $$
  select 'v' || pg_catalog.left(pg_catalog.md5(to_stand.id || ' ' || to_stand.xmin::text), 15)
$$;

-- Sets what a reviewer decided of a record that this transaction has locked. Of a species for which a rule asks for two persons the first
-- release is noted only, and the record waits on (O6.13).
--   bemerkung  null: as it is; empty: none
--   gefragt    status was decided, so that hinweis with a remark is a question to the recorder
-- returns      null: done; zweite_person: this one has released it already
create or replace function private.set_status(id bigint, reader bigint, status portal.status, bemerkung text, gefragt boolean)
  returns text
  language plpgsql
  volatile
as $$
#variable_conflict use_variable
declare
  v_status portal.status := status;
  v_first bigint;
begin
  if status = 'freigegeben' and private.is_zu_zweit(set_status.id) then
    select b.experte_id into v_first from portal.bestaetigung b where b.sichtbeobachtung_id = set_status.id;
    if not found then
      insert into portal.bestaetigung (sichtbeobachtung_id, experte_id) values (set_status.id, reader);
      v_status := 'pruefung';
    elsif v_first = reader then
      return 'zweite_person';
    end if;
  end if;
  if v_status is distinct from 'pruefung' then
    delete from portal.bestaetigung b where b.sichtbeobachtung_id = set_status.id;
  end if;
  update portal.sichtbeobachtung s
  set status = v_status,
    -- Deciding the same again leaves the one who decided: the QS log names nobody else.
    experte_id = case when v_status = s.status then s.experte_id when v_status in ('freigegeben', 'abgelehnt') then reader end,
    bemerkung_experte = case when bemerkung is null then s.bemerkung_experte else nullif(bemerkung, '') end
  where s.id = set_status.id;
  if gefragt and status = 'hinweis' and bemerkung <> '' then
    perform private.create_frage(set_status.id, reader, bemerkung);
  end if;
  return null;
end
$$;

-- Whether a rule asks for two persons to release a record that is not released.
create or replace function private.is_zu_zweit(id bigint)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return exists (
    select
    from portal.sichtbeobachtung s,
      private.list_pruefregel(
        s.art, array(select l.mandant_id from portal.mandant_sichtbeobachtung l where l.sichtbeobachtung_id = s.id)) r
    where s.id = is_zu_zweit.id and s.status <> 'freigegeben' and r.zwei_personen);
end
$$;

-- Decides on one record.
--   bemerkung   null: as it is; empty: none
--   stand       of the record that was decided on (private.to_stand)
--   schluessel  Idempotency-Key; null: without
--   probe       only says what would become of it
-- returns       null: done; else why not: nicht_gefunden, nicht_erlaubt, veraltet, zweite_person. With a key that was there already, what it was then
-- errors        NRCHT experts and administrators only; SCHLU the key came with another decision
create or replace function api.set_entscheidung(
  reader bigint, id bigint, status portal.kurztext, bemerkung portal.bemerkung, stand portal.kurztext, schluessel portal.kurztext,
  probe boolean)
  returns text
  language plpgsql
  volatile
as $$
#variable_conflict use_variable
declare
  v_schluessel bytea := sha256(convert_to(schluessel, 'UTF8'));
  v_anfrage bytea := sha256(convert_to(json_build_array(status, bemerkung, stand)::text, 'UTF8'));
  v_record portal.sichtbeobachtung;
  v_stand text;
  v_known portal.entscheidung;
  v_code text;
begin
  if not (private.get_zustaendigkeit(reader, entscheiden => true)).gilt then
    raise exception 'experts and administrators only' using errcode = 'NRCHT';
  end if;
  perform private.require_catalogue_lock(exclusive => false);
  select private.to_stand(s.id, s.xmin) into v_stand from portal.sichtbeobachtung s where s.id = set_entscheidung.id for no key update;
  -- Behind the lock: the same key may have come twice at once.
  select e.* into v_known
  from portal.entscheidung e
  where e.nutzer_id = reader and e.schluessel = v_schluessel and e.sichtbeobachtung_id = set_entscheidung.id;
  if found then
    if v_known.anfrage <> v_anfrage then
      raise exception 'the key came with another decision' using errcode = 'SCHLU', column = 'Idempotency-Key';
    end if;
    return v_known.code;
  end if;
  select s.* into v_record from portal.sichtbeobachtung s where s.id = set_entscheidung.id;
  if not found or not private.is_visible(v_record.bereich, v_record.status, v_record.nutzer_id, reader) then
    v_code := 'nicht_gefunden';
  elsif not (select r.review from private.get_recht(v_record, reader) r) then
    v_code := 'nicht_erlaubt';
  elsif v_stand is distinct from stand then
    v_code := 'veraltet';
  elsif not probe then
    v_code := private.set_status(v_record.id, reader, status::portal.status, bemerkung, gefragt => true);
  end if;
  if schluessel is not null and not probe then
    insert into portal.entscheidung (nutzer_id, schluessel, sichtbeobachtung_id, anfrage, code)
    values (reader, v_schluessel, set_entscheidung.id, v_anfrage, v_code)
    on conflict do nothing;
  end if;
  return v_code;
end
$$;
comment on function api.set_entscheidung(bigint, bigint, portal.kurztext, portal.bemerkung, portal.kurztext, portal.kurztext, boolean) is
  'Decides on one record as an expert or administrator who is in charge of it; null, or why nothing was changed';
