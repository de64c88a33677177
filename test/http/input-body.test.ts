import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { countRows, idsIn, startTestService } from '../support/service.ts';

const ids = { first: 0, second: 0 };
const service = await startTestService();
ids.first = await service.makeReleased({ datum: '1.9.2026' });
ids.second = await service.makeReleased({ datum: '2.9.2026', art: String(arten.gelbflechte) });

const urlencoded = 'application/x-www-form-urlencoded';
const send = (type: string, body: string | Buffer, path = '/sichtbeobachtungen', as: Account | null = 'melder') =>
  service.request(path, { as, method: 'POST', body, headers: { 'content-type': type } });
const logIn = (type: string, body: string) => send(type, body, '/login', null);

describe('GET /sichtbeobachtungen takes', () => {
  const rows: [query: string, found: ('first' | 'second')[]][] = [
    ['', ['second', 'first']],
    ['datum_von=2.9.2026', ['second']],
    ['datum_von=02.09.2026', ['second']],
    ['datum_von=02.9.2026', ['second']],
    ['datum_bis=1.9.2026', ['first']],
    ['datum_bis=01.09.2026', ['first']],
    ['datum_von=1.9.2026&datum_bis=1.09.2026', ['first']],
    ['datum_von=29.2.2024', ['second', 'first']],
    ['datum_von=2.9.2026&datum_bis=1.9.2026', []],
    ['datum_bis=31.12.9999', ['second', 'first']],
    ['is_animal=TRUE', ['first']],
    ['is_animal=True', ['first']],
    ['is_animal=1', ['first']],
    ['is_animal=0', ['second']],
    ['is_animal=False', ['second']],
    ['is_animal=FALSE', ['second']],
    ['limit=1000', ['second', 'first']],
    ['limit=1', ['second']],
    ['mandant=n', ['second', 'first']],
    ['mandant=N', ['second', 'first']],
    ['mandant=s', []],
    ['jahr=2026', ['second', 'first']],
    ['jahr=9999', []],
    ['bbox=419999.5,5529999,420000.5,5530001', ['second', 'first']],
    ['bbox=4.2e5,5530000,4.3e5,5.54e6', ['second', 'first']],
    ['bbox=-1e308,-1e308,1e308,1e308', ['second', 'first']],
    ['bbox=1e307,1e307,1e308,1e308', []],
    ['bbox=420000,5530000,420000.0000001,5530000.0000001', ['second', 'first']],
    ['art_id=N-7', ['second']],
    ['art_id=', ['second', 'first']],
    ['titel_deutsch=&titel_wissenschaftlich=&eu_guid=', ['second', 'first']],
    ['eu_guid=eu-2', ['first']],
    ['artengruppe_id=3', ['second']],
    ['artengruppe_id=2147483647', []],
    ['legacy_regional_artengruppe_id=13', ['second']],
    ['lanis_rlp_osiris_artengruppe_id=13', ['second']],
    ['legacy_regional_art_id=107', ['second']],
    ['lanis_rlp_osiris_art_id=107', ['second']],
    ['format=json&callback=$.a_1.f&limit=2', ['second', 'first']],
    ['callback=L.OWM.Utils.callbacks[9]&limit=2', ['second', 'first']],
    ['callback=OpenLayers.Protocol.Script.registry%5B1%5D&limit=2', ['second', 'first']],
    ['callback=a[0][99999].b[1]&limit=2', ['second', 'first']],
    ['unbekannt=1&unbekannt=2', ['second', 'first']],
    ['__proto__=1&constructor=2&toString=3&hasOwnProperty=4', ['second', 'first']],
    ['__proto__[limit]=0&limit[]=0', ['second', 'first']],
    ['LIMIT=0&Format=pdf', ['second', 'first']],
    ['&&=&=1&%00=1&a%00=2', ['second', 'first']],
    [`unbekannt=${'x'.repeat(65_536)}`, ['second', 'first']],
    [Array.from({ length: 10_000 }, (_, n) => `p${n}=${n}`).join('&'), ['second', 'first']],
    ['p=1&'.repeat(10_000), ['second', 'first']],
    ['&'.repeat(65_536), ['second', 'first']],
    ['%'.repeat(65_536), ['second', 'first']],
    [`x=${'%e4'.repeat(20_000)}`, ['second', 'first']],
    [`restrict=id,${'x,'.repeat(7_000)}`, ['second', 'first']],
    [`restrict=id&titel_deutsch=${'%25'.repeat(400)}`, ['second', 'first']],
  ];
  for (const [query, found] of rows) {
    it(`S3.3 ?${query.length > 80 ? `${query.slice(0, 80)}… (${query.length} bytes)` : query}`, async () => {
      const answer = await service.request(`/sichtbeobachtungen?${query}`);
      assert.equal(answer.status, 200, answer.text);
      const json = answer.json ?? JSON.parse(answer.text.replace(/^[^(]*\(|\);$/g, ''));
      const expected = found.map((name) => ids[name]);
      assert.deepEqual(idsIn({ json }), expected);
    });
  }

  it('an old and a new name of the same parameter are one filter when they say the same, else 400 (D6.3)', async () => {
    for (const name of ['art_id', 'artengruppe_id']) {
      const same = await service.request(`/sichtbeobachtungen?legacy_regional_${name}=13&lanis_rlp_osiris_${name}=13`);
      assert.equal(same.status, 200, same.text);
      assert.equal(same.json.result.length, name === 'art_id' ? 0 : 1);
      const answer = await service.request(`/sichtbeobachtungen?legacy_regional_${name}=1&lanis_rlp_osiris_${name}=2`);
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.json.error.fields[`legacy_regional_${name}`], /mehrfach/);
    }
  });
});

describe('POST /sichtbeobachtungen takes', () => {
  const readBack = async (answer: { status: number; text: string; json: { result: [{ id: number }] } }) => {
    assert.equal(answer.status, 201, answer.text);
    const read = await service.request(`/sichtbeobachtungen/${answer.json.result[0].id}`, { as: 'melder' });
    return read.json.result[0];
  };
  let lon = 401_000;
  const form = () => ({ art: '2', lat: '5530000', lon: String(lon++), datum: '1.9.2026' });

  it('empty optional fields as their defaults', async () => {
    const empty = { srid: '', anzahl: '', sensibel: '', datum: '', bemerkung: '', stadium_id: '', aktivitaet_id: '', foto: '' };
    const answer = await service.request('/sichtbeobachtungen', { as: 'melder', form: { ...form(), ...empty } });
    const record = await readBack(answer);
    const [today] = await service.database.sql`select to_char(now() at time zone 'Europe/Berlin', 'DD.MM.YYYY') as text`;
    const { anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id } = record;
    assert.deepEqual(
      { anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id },
      {
        ...{ anzahl: '1', sensibel: false, datum: today?.text, bereich: 'Persönliche Erfassungen' },
        ...{ bemerkung: null, stadium_id: null, aktivitaet_id: null },
      },
    );
  });

  const rows: [name: string, value: string, field: string, shown: unknown][] = [
    ['anzahl', '20000', 'anzahl', '20000'],
    ['anzahl', ' 7 ', 'anzahl', '7'],
    ['anzahl', '007', 'anzahl', '7'],
    ['sensibel', 'TRUE', 'sensibel', true],
    ['sensibel', '1', 'sensibel', true],
    ['sensibel', 'False', 'sensibel', false],
    ['sensibel', '0', 'sensibel', false],
    ['datum', '1.9.2026', 'datum', '01.09.2026'],
    ['datum', '01.09.2026', 'datum', '01.09.2026'],
    ['datum', '29.2.2024', 'datum', '29.02.2024'],
    ['datum', '1.1.1800', 'datum', '01.01.1800'],
    ['stadium_id', '2', 'stadium', 'Raupe'],
    ['aktivitaet_id', '2', 'aktivitaet', 'fliegend'],
    ['bereich', 'oeffentlich', 'bereich', 'Öffentliche Meldungen'],
    ['lat', '5.53e6', 'lat', 5530000],
    ['lat', ' +5530000.5 ', 'lat', 5530000.5],
    ['bemerkung', ' ', 'bemerkung', ' '],
    ['bemerkung', 'Grün', 'bemerkung', 'Grün'.normalize('NFC')],
    ['bemerkung', "'; drop table portal.sichtbeobachtung; --", 'bemerkung', "'; drop table portal.sichtbeobachtung; --"],
    ['bemerkung', 'x'.repeat(4000), 'bemerkung', 'x'.repeat(4000)],
    ['bemerkung', '🦋'.repeat(4000), 'bemerkung', '🦋'.repeat(4000)],
    ['bemerkung', 'a\u0308'.repeat(4000), 'bemerkung', 'ä'.repeat(4000)],
    ['unbekannt', 'x', 'anzahl', '1'],
    ['__proto__', 'x', 'anzahl', '1'],
    ['constructor', 'x', 'anzahl', '1'],
  ];
  for (const [name, value, field, expected] of rows) {
    it(`${name}=${value.slice(0, 50)}`, async () => {
      const body = new FormData();
      for (const [key, text] of new Map([...Object.entries(form()), [name, value]])) body.append(key, text);
      const record = await readBack(await service.request('/sichtbeobachtungen', { as: 'melder', form: body }));
      assert.deepEqual(record[field], expected);
    });
  }

  it('application/x-www-form-urlencoded, with umlauts, + and a bare %', async () => {
    for (const type of [urlencoded, 'Application/X-WWW-Form-Urlencoded; charset=utf-8']) {
      const body = `${new URLSearchParams(form())}&bemerkung=50+%+Gr%C3%BCn`;
      assert.equal((await readBack(await send(type, body))).bemerkung, '50 % Grün');
    }
  });

  it('S3.3 190 unknown urlencoded fields', async () => {
    const body = `${new URLSearchParams(form())}&${Array.from({ length: 190 }, (_, n) => `p${n}=${n}`).join('&')}`;
    await readBack(await send(urlencoded, body));
  });
});

describe('a body that is no readable form is refused, and nothing is stored', () => {
  const multipart = 'multipart/form-data; boundary=b';
  const part = (name: string, value: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const good = part('art', '2') + part('lat', '5530000') + part('lon', '409000') + part('datum', '1.9.2026');
  const end = '--b--\r\n';
  const file = '; filename="x.jpg"\r\nContent-Type: image/jpeg';
  const rows: [title: string, type: string, body: string | Buffer, statuses: number[], field?: string][] = [
    ['application/json', 'application/json', '{"art":2,"lat":5530000,"lon":409000}', [415]],
    ['text/plain', 'text/plain', 'art=2', [415]],
    ['no type at all', '', 'art=2', [415]],
    ['multipart/mixed', 'multipart/mixed; boundary=b', good + end, [415]],
    ['multipart without boundary', 'multipart/form-data', good + end, [400]],
    ['an empty boundary', 'multipart/form-data; boundary=', good + end, [400]],
    ['another boundary than in the body', 'multipart/form-data; boundary=c', good + end, [400]],
    ['an empty body', multipart, '', [400]],
    ['an empty form', multipart, end, [400]],
    ['unterminated', multipart, good, [400]],
    ['cut off inside a value', multipart, `${good}--b\r\nContent-Disposition: form-data; name="bemerkung"\r\n\r\nabc`, [400]],
    ['cut off inside a part header', multipart, `${good}--b\r\nContent-Dispo`, [400]],
    ['10 000 parts', multipart, good + part('x', 'y').repeat(10_000) + end, [400, 413], 'formular'],
    ['10 000 file parts', multipart, good + part('x', 'y', file).repeat(10_000) + end, [400, 413]],
    ['a giant part header', multipart, `${good}${part('x', 'y', `; x="${'h'.repeat(200_000)}"`)}${end}`, [400, 413]],
    ['10 000 part headers', multipart, `${good}${part('x', 'y', '\r\nX-A: b'.repeat(10_000))}${end}`, [400, 413]],
    ['a field twice', multipart, good + part('lat', '5530000') + end, [400], 'lat'],
    ['a file for a text field', multipart, good + part('bemerkung', 'x', file) + end, [400], 'bemerkung'],
    ['text for a file field', multipart, good + part('foto', 'x') + end, [400], 'foto'],
    ['text and a file for a file field', multipart, good + part('audio', 'x') + part('audio', 'x', file) + end, [400], 'audio'],
    ['a file part of an unknown name', multipart, good + part('__proto__', 'x', file) + end, [400]],
    ['a remark of 4 001 characters', multipart, good + part('bemerkung', 'x'.repeat(4001)) + end, [400], 'bemerkung'],
    ['a remark of 4 001 butterflies', multipart, good + part('bemerkung', '🦋'.repeat(4001)) + end, [400], 'bemerkung'],
    ['a field of 65 537 bytes', multipart, good + part('bemerkung', 'x'.repeat(65_537)) + end, [400], 'bemerkung'],
    ['10 000 urlencoded fields', urlencoded, 'p=1&'.repeat(10_000), [400], 'formular'],
    ['a field of 2 MB', multipart, good + part('bemerkung', 'x'.repeat(2_000_000)) + end, [413], 'bemerkung'],
    ['2 MB urlencoded', urlencoded, `bemerkung=${'x'.repeat(2_000_000)}`, [413]],
    ['53 MB', multipart, Buffer.concat([Buffer.from(good), Buffer.alloc(53 << 20, 'x'), Buffer.from(end)]), [413]],
    ['an urlencoded field twice', urlencoded, 'art=2&art=2&lat=5530000&lon=409000', [400], 'art'],
    ['urlencoded text for a file field', urlencoded, 'art=2&lat=5530000&lon=409000&foto=x', [400], 'foto'],
    ['bytes that are no form', multipart, Buffer.from(Array.from({ length: 5000 }, (_, n) => (n * 7919) % 256)), [400]],
  ];
  for (const [n, [title, type, content, statuses, name]] of rows.entries()) {
    it(`S3.5 ${title}: ${statuses.join(' or ')}`, async () => {
      const rowsBefore = await countRows(service);
      // a place of its own for each: otherwise one that is wrongly taken makes the next ones duplicates
      const body = typeof content === 'string' ? content.replace('409000', String(409_000 + n)) : content;
      const answer = await send(type, body);
      assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.text}`);
      assert.match(answer.json.error.message, /^[A-ZÄÖÜa-z_].*\.$/);
      if (name) assert.ok(name in answer.json.error.fields, answer.text);
      assert.equal(await countRows(service), rowsBefore);
    });
  }

  it('S3.6 a body of unknown length is cut off when it becomes too large: 413', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(1 << 20, 'x');
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(sent === 0 ? Buffer.from(good) : chunk);
        if (++sent > 200) controller.close();
      },
    });
    const headers = {
      ...{ host: 'n.test', 'content-type': multipart },
      ...{ 'X-Auth-User': 'melder', 'X-Auth-Token': await service.tokenOf('melder') },
    };
    const init = { method: 'POST', headers, body, duplex: 'half' };
    const answer = await service.app.request('http://n.test/api/v2/sichtbeobachtungen', init as RequestInit);
    assert.equal(answer.status, 413, await answer.text());
    assert.ok(sent < 100, `${sent} MB were read`);
  });

  it('S3.3 bytes that are no UTF-8 are stored as readable text or refused, never 500', async () => {
    for (const [n, bytes] of [[0xed, 0xa0, 0x80], [0xff], [0xc0, 0x80], [0xe4]].entries()) {
      const start = `${part('art', '2')}${part('lat', '5530000')}${part('lon', String(409_500 + n))}`;
      const remark = Buffer.concat([Buffer.from(part('bemerkung', '').slice(0, -2)), Buffer.from(bytes), Buffer.from('\r\n')]);
      const body = Buffer.concat([Buffer.from(start), remark, Buffer.from(end)]);
      const answer = await send(multipart, body);
      assert.ok([201, 400].includes(answer.status), `${bytes}: ${answer.status} ${answer.text}`);
    }
  });

  it('S3.5 the name of a file is never used, whatever it is', async () => {
    for (const filename of ['../../x\0.jpg', 'x'.repeat(10_000), 'a%00b', '<script>', '']) {
      const more = `; filename="${filename}"\r\nContent-Type: image/jpeg`;
      const answer = await send(multipart, good + part('foto', 'x', more) + end);
      assert.ok(answer.status >= 400 && answer.status !== 500, `${answer.status} ${answer.text}`);
      assert.ok(filename === '' || !answer.text.includes(filename));
    }
  });
});

describe('POST /login', () => {
  it('refuses files, unreadable bodies and other types with 4xx', async () => {
    const form = { loginname: 'melder', password: new Blob([sha1OfPlain('melder')]) };
    const asFile = await service.request('/login', { form });
    assert.equal(asFile.status, 400, asFile.text);
    assert.ok(asFile.json.error.fields.password);
    for (const [type, body, status] of [
      ['application/json', '{}', 415],
      ['multipart/form-data', 'x', 400],
      ['multipart/form-data; boundary=b', '--b', 400],
      [
        'multipart/form-data; boundary=b; boundary=c',
        '--c\r\nContent-Disposition: form-data; name="art"\r\n\r\n5\r\n--c--\r\n',
        400,
      ],
      ['multipart/form-data; boundary=b x', '--b--\r\n', 400],
      [urlencoded, '%00=%ff&'.repeat(10_000), 400],
      [urlencoded, 'x'.repeat(2_000_000), 413],
    ] as const) {
      const answer = await logIn(type, body);
      assert.equal(answer.status, status, `${type}: ${answer.text}`);
    }
  });

  const part = (head: string, value: string, boundary: string) => `--${boundary}\r\n${head}\r\n\r\n${value}\r\n`;

  it('understands every way to write a boundary', async () => {
    for (const [written, boundary] of [
      ['boundary=b', 'b'],
      [' boundary="b c"', 'b c'],
      ['charset=utf-8; Boundary=----WebKitFormBoundaryX', '----WebKitFormBoundaryX'],
      ['boundary=b;', 'b'],
      ['x="boundary=c"; boundary=b', 'b'],
      ['xboundary=c; boundary=b', 'b'],
      ['boundary=(a)*b&c', '(a)*b&c'],
    ] as const) {
      const fields = { loginname: 'melder', password: sha1OfPlain('melder') };
      const parts = Object.entries(fields).map(([name, value]) =>
        part(`Content-Disposition: form-data; name="${name}"`, value, boundary),
      );
      const answer = await logIn(`multipart/form-data;${written}`, `${parts.join('')}--${boundary}--\r\n`);
      assert.equal(answer.status, 200, `${written}: ${answer.text}`);
    }
  });

  it('counts parts and their heads by the boundary that separates them, whatever else is called one', async () => {
    const empty = '--b\r\n\r\n\r\n'.repeat(10_000);
    for (const type of ['boundary=b', 'x="boundary=zzzz"; boundary=b', 'xboundary=zzz; boundary=b']) {
      const answer = await logIn(`multipart/form-data; ${type}`, empty);
      assert.equal(answer.status, 400, type);
      assert.match(answer.json.error.message, /mehr als \d+ Felder/, type);
    }
  });

  it('says so of a field without a name', async () => {
    for (const head of ['form-data', 'form-data;', 'form-data; a=b', 'form-data; name', 'form-data; filename="x.jpg"']) {
      const answer = await logIn('multipart/form-data; boundary=b', `${part(`Content-Disposition: ${head}`, 'x', 'b')}--b--\r\n`);
      assert.equal(answer.status, 400, `${head}: ${answer.text}`);
      assert.equal(answer.json.error.fields.formular, 'Ein Feld des Formulars hat keinen Namen.', head);
    }
  });
});
