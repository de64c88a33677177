-- Decisions of reviewers (O6): each in a transaction of its own, so that the feed never waits for many.

-- Changes with every change of a record. A number of a transaction, hashed: it would tell how much is written.
create or replace function private.to_stand(id bigint, xmin xid)
  returns text
  language sql
  stable
as $$
  select pg_catalog.left(pg_catalog.md5(to_stand.id || ' ' || to_stand.xmin::text), 16)
$$;

-- Sets what a reviewer decided of a record that this transaction has locked.
--   bemerkung  null: as it is; empty: none
create or replace function private.set_status(id bigint, reader bigint, status portal.status, bemerkung text)
  returns void
  language sql
  volatile
as $$
  update portal.sichtbeobachtung s
  set status = set_status.status,
    -- Deciding the same again leaves the one who decided: the QS log names nobody else.
    experte_id = case when set_status.status = s.status then s.experte_id
      when set_status.status in ('freigegeben', 'abgelehnt') then set_status.reader end,
    bemerkung_experte = case when set_status.bemerkung is null then s.bemerkung_experte else nullif(set_status.bemerkung, '') end
  where s.id = set_status.id;
  select private.create_frage(set_status.id, set_status.reader, set_status.bemerkung)
  where set_status.status = 'hinweis' and set_status.bemerkung <> ''
$$;

-- Decides on one record.
--   bemerkung   null: as it is; empty: none
--   stand       of the record that was decided on (private.to_stand)
--   schluessel  Idempotency-Key; null: without
-- returns       null: done; else why not: nicht_gefunden, nicht_erlaubt, veraltet. With a key that was there already, what it was then
-- errors        NRCHT experts and administrators only; SCHLU the key came with another decision
create or replace function api.set_entscheidung(
  reader bigint, id bigint, status portal.kurztext, bemerkung portal.bemerkung, stand portal.kurztext, schluessel portal.kurztext)
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
  else
    perform private.set_status(v_record.id, reader, status::portal.status, bemerkung);
  end if;
  if schluessel is not null then
    insert into portal.entscheidung (nutzer_id, schluessel, sichtbeobachtung_id, anfrage, code)
    values (reader, v_schluessel, set_entscheidung.id, v_anfrage, v_code)
    on conflict do nothing;
  end if;
  return v_code;
end
$$;
comment on function api.set_entscheidung(bigint, bigint, portal.kurztext, portal.bemerkung, portal.kurztext, portal.kurztext) is
  'Decides on one record as an expert or administrator who is in charge of it; null, or why nothing was changed';
