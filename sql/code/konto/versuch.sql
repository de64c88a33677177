-- Attempts: how many there were lately, of whom, and how long to wait when there were too many (S2.5).

-- Whom or what attempts are counted for, as it is stored. Folded like the account it stands for: otherwise every way of writing
-- a name had attempts of its own. As it is where that is too long to be folded: what was folded already may have become so.
create or replace function private.to_versuch_key(zweck text, schluessel text)
  returns bytea
  language sql
  immutable
  parallel safe
as $$
  select sha256(convert_to(zweck || ':' || coalesce(private.to_account_key(schluessel), schluessel), 'UTF8'))
$$;

-- Counts attempts and says how long to wait when there were too many (S2.5).
--   zweck       what is counted
--   schluessel  whom or what it is counted for, from private.to_versuch_key
--   limit_      attempts allowed in a window of `window_seconds`
--   amount      attempts; negative takes some back that turned out right
-- returns       0 when it may go on, else seconds until the window ends
create or replace function private.count_versuch(zweck text, schluessel bytea, limit_ integer, window_seconds integer, amount integer)
  returns integer
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_window interval := make_interval(secs => window_seconds);
  v_row portal.versuch;
begin
  insert into portal.versuch as v (zweck, schluessel, anzahl)
  values (count_versuch.zweck, count_versuch.schluessel, greatest(amount, 0))
  on conflict on constraint versuch_zweck_schluessel_pk do update
    set seit = case when v.seit < now() - v_window then now() else v.seit end,
      -- Bounded: who goes on trying must not count into an overflow.
      anzahl = least(1000000, greatest(0, case when v.seit < now() - v_window then amount else v.anzahl + amount end))
  returning v.* into v_row;
  if v_row.anzahl > limit_ then
    return greatest(1, ceil(extract(epoch from v_row.seit + v_window - now())))::integer;
  end if;
  return 0;
end
$$;

create or replace function api.count_versuch(
  zweck portal.kurztext, schluessel portal.kurztext, limit_ integer, window_seconds integer, amount integer)
  returns integer
  language sql
  volatile
as $$
  select private.count_versuch(zweck, private.to_versuch_key(zweck, schluessel), limit_, window_seconds, amount)
$$;
comment on function api.count_versuch(portal.kurztext, portal.kurztext, integer, integer, integer) is
  'Counts an attempt in a window shared by all instances; returns 0, or the seconds to wait when there were too many';

-- A network as it is kept with an account: a hash of both, so that no address is stored and none shows up twice.
create or replace function private.to_netz_key(nutzer_id bigint, netz text)
  returns bytea
  language sql
  immutable
  parallel safe
as $$
  select sha256(convert_to(nutzer_id || ' ' || netz, 'UTF8'))
$$;

-- Remembers a network from which an account proved to be its owner; the twenty latest.
create or replace function private.set_nutzer_netz(nutzer_id bigint, netz text)
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  insert into portal.nutzer_netz as n (nutzer_id, netz)
  values (set_nutzer_netz.nutzer_id, private.to_netz_key(set_nutzer_netz.nutzer_id, set_nutzer_netz.netz))
  on conflict on constraint nutzer_netz_nutzer_id_netz_pk do update set zuletzt = now()
    -- Once a day is enough for what is kept for months.
    where n.zuletzt < now() - interval '1 day';
  if found then
    delete from portal.nutzer_netz n
    where n.nutzer_id = set_nutzer_netz.nutzer_id and n.netz in (
      select o.netz from portal.nutzer_netz o where o.nutzer_id = set_nutzer_netz.nutzer_id
      order by o.zuletzt desc, o.netz offset 20);
  end if;
end
$$;

-- Where the wrong passwords for a login name are counted (S2.5): for each network by itself, so that a stranger who tries the name
-- doesn't lock its owner out; and for networks from which the account did not log in lately all together, so that many of them
-- don't get many times as many attempts.
--   netz     network of the client
-- returns      zweck of the network's own count, which names the account so that all of them can be ended; schluessel; whether the
--              network is known
create or replace function private.get_login_versuch(loginname text, netz text)
  returns table (zweck text, schluessel bytea, bekannt boolean)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
declare
  v_key text := coalesce(private.to_account_key(get_login_versuch.loginname), '');
  v_id bigint := (select u.id from portal.nutzer u where u.loginname_key = v_key);
begin
  zweck := 'login netz ' || coalesce(v_id, 0);
  schluessel := sha256(convert_to(v_key || ' ' || get_login_versuch.netz, 'UTF8'));
  bekannt := exists (
    select from portal.nutzer_netz n where n.nutzer_id = v_id and n.netz = private.to_netz_key(v_id, get_login_versuch.netz));
  return next;
end
$$;

-- Counts a login, before its password is looked at: many at once can't slip through together.
--   loginname      as given
--   netz           network of the client
--   konto_limit    wrong passwords of an account that one network may send in a window
--   fremd_limit    those that all networks together may send from which it did not log in lately
--   netz_limit     those that a network may send for all accounts together
-- returns            0 when it may go on, else seconds to wait
create or replace function api.count_login(
  loginname portal.kurztext, netz portal.kurztext, konto_limit integer, fremd_limit integer, netz_limit integer,
  window_seconds integer)
  returns integer
  language plpgsql
  volatile
as $$
declare
  v_wait integer := private.count_versuch(
    'login adresse', private.to_versuch_key('login adresse', netz), netz_limit, window_seconds, 1);
  v_bekannt boolean;
begin
  if v_wait > 0 then
    return v_wait;
  end if;
  select private.count_versuch(k.zweck, k.schluessel, konto_limit, window_seconds, 1), k.bekannt into v_wait, v_bekannt
  from private.get_login_versuch(loginname, netz) k;
  if v_wait = 0 and not v_bekannt then
    v_wait := private.count_versuch(
      'login konto', private.to_versuch_key('login konto', coalesce(private.to_account_key(loginname), '')), fremd_limit, window_seconds, 1);
  end if;
  return v_wait;
end
$$;
comment on function api.count_login(portal.kurztext, portal.kurztext, integer, integer, integer, integer) is
  'Counts a login of an account and of a network; returns 0, or the seconds to wait when there were too many wrong ones';

-- Takes a login that was right out of all counts.
create or replace function private.forgive_login(nutzer_id bigint, netz text)
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  update portal.versuch v set anzahl = greatest(0, v.anzahl - 1)
  where v.zweck = 'login adresse' and v.schluessel = private.to_versuch_key('login adresse', forgive_login.netz);
  update portal.versuch v set anzahl = greatest(0, v.anzahl - 1)
  from portal.nutzer u, private.get_login_versuch(u.loginname_key, forgive_login.netz) k
  where u.id = forgive_login.nutzer_id
    and (v.zweck = k.zweck and v.schluessel = k.schluessel
      or not k.bekannt and v.zweck = 'login konto' and v.schluessel = private.to_versuch_key('login konto', u.loginname_key));
end
$$;

-- Ends the counts of wrong passwords of an account: it has a new one.
create or replace function private.delete_login_versuch(nutzer_id bigint)
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  -- In the order in which a login counts: the other way round they waited for each other.
  delete from portal.versuch v where v.zweck = 'login netz ' || delete_login_versuch.nutzer_id;
  delete from portal.versuch v
  using portal.nutzer u
  where u.id = delete_login_versuch.nutzer_id and v.zweck = 'login konto'
    and v.schluessel = private.to_versuch_key('login konto', u.loginname_key);
end
$$;
