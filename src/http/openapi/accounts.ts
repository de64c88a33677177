// The operations on accounts, for the document: login, registration, accounts.
import type { Deps } from '../context.ts';
import { loginFields } from '../routes/login.ts';
import { changeNutzerFields, nutzerFilters } from '../routes/nutzer.ts';
import { passwortFields, registerFields } from '../routes/register.ts';
import { pageFields, restrictFields } from '../wire/input.ts';
import { formErrors, type Operation, own, unknown } from './operation.ts';

const sha1Example = 'e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4';
const registration = { loginname: 'Anna Beispiel', email: 'anna@example.org', vorname: 'Anna', nachname: 'Beispiel' };
const loginText =
  'Gibt den Zugangsschlüssel, der mit dem Anmeldenamen in den Köpfen X-Auth-Token und X-Auth-User mitgeht. Falsche Angaben und gesperrte Konten: 200 mit leerem Inhalt.';
const loginExample = { summary: 'Falsche Angaben: leerer Inhalt', status: 200 };
const registerText =
  'Legt ein Konto ohne Passwort an und schickt einen Link, der sieben Tage gilt, zum Festlegen des Passworts. Gehört die E-Mail-Adresse schon zu einem Konto, erfährt das nur dessen Postfach.';

export function accountOperations(deps: Pick<Deps, 'sql' | 'regexpSql'>): Operation[] {
  return [
    {
      method: 'get',
      path: '/login',
      operationId: 'login',
      tag: 'Anmeldung',
      summary: 'Anmelden',
      description: `${loginText} Mit POST steht das Passwort nicht in der Adresse.`,
      auth: 'none',
      query: loginFields,
      record: 'Anmeldung',
      shape: 'bare',
      errors: ['zu_oft'],
      examples: [
        { ...loginExample, query: { loginname: 'niemand', password: sha1Example } },
        { summary: 'Ohne Passwort', query: { loginname: 'niemand' }, status: 400 },
      ],
    },
    {
      method: 'post',
      path: '/login',
      operationId: 'loginPerFormular',
      tag: 'Anmeldung',
      summary: 'Anmelden, per Formular',
      description: loginText,
      auth: 'none',
      form: loginFields,
      record: 'Anmeldung',
      shape: 'bare',
      errors: [...formErrors, 'zu_oft'],
      examples: [
        { ...loginExample, form: { loginname: 'niemand', password: sha1Example } },
        { summary: 'Ohne Passwort', form: { loginname: 'niemand' }, status: 400 },
        { summary: 'Ohne Formular', headers: { 'content-type': 'text/plain' }, status: 415 },
      ],
    },
    {
      method: 'post',
      path: '/logout',
      operationId: 'logout',
      tag: 'Anmeldung',
      summary: 'Abmelden',
      description: 'Beendet den Zugangsschlüssel, mit dem die Anfrage kommt; andere Schlüssel des Kontos bleiben gültig.',
      auth: 'required',
      record: 'Kennung',
      shape: 'single',
      examples: [
        { summary: 'Abmelden', as: 'nutzer', status: 200 },
        { summary: 'Ohne Anmeldung', status: 401 },
      ],
    },
    {
      method: 'get',
      path: '/register',
      operationId: 'register',
      tag: 'Anmeldung',
      summary: 'Registrieren',
      description: registerText,
      auth: 'none',
      query: registerFields,
      record: 'Registrierung',
      shape: 'bare',
      errors: ['zu_oft'],
      examples: [
        { summary: 'Neues Konto', query: registration, status: 200 },
        { summary: 'Ohne E-Mail-Adresse', query: { ...registration, email: '' }, status: 400 },
      ],
    },
    {
      method: 'post',
      path: '/register',
      operationId: 'registerPerFormular',
      tag: 'Anmeldung',
      summary: 'Registrieren, per Formular',
      description: registerText,
      auth: 'none',
      form: registerFields,
      record: 'Registrierung',
      shape: 'bare',
      errors: [...formErrors, 'zu_oft'],
      examples: [
        {
          summary: 'Neues Konto',
          form: { ...registration, loginname: 'Bert Beispiel', email: 'bert@example.org', vorname: 'Bert' },
          status: 200,
        },
        { summary: 'Verbotenes Zeichen', form: { ...registration, loginname: 'Anna!' }, status: 400 },
      ],
    },
    {
      method: 'post',
      path: '/passwort',
      operationId: 'passwort',
      tag: 'Anmeldung',
      summary: 'Passwort vergessen',
      description:
        'Schickt einen neuen Link zum Festlegen des Passworts. Eines von loginname und email ist nötig. Die Antwort sagt nicht, ob es das Konto gibt.',
      auth: 'none',
      form: passwortFields,
      record: 'Leer',
      shape: 'single',
      errors: [...formErrors, 'zu_oft'],
      examples: [
        { summary: 'Per Anmeldename', form: { loginname: 'Anna Beispiel' }, status: 200 },
        { summary: 'Ohne Angabe', form: { loginname: '' }, status: 400 },
      ],
    },
    {
      method: 'get',
      path: '/nutzer',
      operationId: 'listNutzer',
      tag: 'Konten',
      summary: 'Konten auflisten',
      description: 'Administratoren sehen alle Konten, alle anderen nur das eigene.',
      auth: 'required',
      query: { ...nutzerFilters(deps), ...pageFields },
      record: 'Nutzer',
      shape: 'list',
      examples: [
        { summary: 'Das eigene', as: 'nutzer', status: 200 },
        { summary: 'Aktive Konten', as: 'administrator', query: { status: '1', limit: '2' }, status: 200 },
        { summary: 'Ohne Anmeldung', status: 401 },
      ],
    },
    {
      method: 'get',
      path: '/nutzer/{id}',
      operationId: 'getNutzer',
      tag: 'Konten',
      summary: 'Ein Konto lesen',
      description: 'Das eigene, Administratoren jedes.',
      auth: 'required',
      query: restrictFields,
      record: 'NutzerDetail',
      shape: 'single',
      errors: ['nicht_erlaubt', 'nicht_gefunden'],
      examples: [
        { summary: 'Das eigene', as: 'nutzer', path: own, status: 200 },
        { summary: 'Ein fremdes', as: 'nutzer', path: unknown, status: 403 },
        { summary: 'Ein unbekanntes', as: 'administrator', path: unknown, status: 404 },
      ],
    },
    {
      method: 'put',
      path: '/nutzer/{id}',
      operationId: 'updateNutzer',
      tag: 'Konten',
      summary: 'Konto ändern',
      description:
        'Eigene E-Mail-Adresse und eigenes Passwort; alles andere nur Administratoren. Was nicht geschickt wird, bleibt. Ein neues Passwort und eine Sperre beenden alle Zugangsschlüssel des Kontos.',
      auth: 'required',
      form: changeNutzerFields,
      record: 'Kennung',
      shape: 'single',
      errors: [...formErrors, 'nicht_erlaubt', 'nicht_gefunden', 'adresse_vergeben', 'letzter_administrator', 'zu_oft'],
      examples: [
        { summary: 'Neue E-Mail-Adresse', as: 'nutzer', path: own, form: { email: 'neu@example.org' }, status: 200 },
        { summary: 'Sich selbst eine Rolle geben', as: 'nutzer', path: own, form: { rollen: 'expert' }, status: 403 },
        { summary: 'Kein SHA-1', as: 'nutzer', path: own, form: { passwort: 'geheim' }, status: 400 },
        { summary: 'Unbekanntes Konto', as: 'administrator', path: unknown, form: { status: '0' }, status: 404 },
      ],
    },
    {
      method: 'post',
      path: '/nutzer/{id}',
      operationId: 'overrideNutzer',
      tag: 'Konten',
      summary: 'PUT als POST',
      description: 'Für Clients, die kein PUT senden können: mit X-HTTP-Method-Override: PUT.',
      auth: 'required',
      form: changeNutzerFields,
      record: 'Kennung',
      shape: 'single',
      override: ['PUT'],
      errors: [
        ...formErrors,
        ...([
          'nicht_erlaubt',
          'nicht_gefunden',
          'methode_nicht_erlaubt',
          'adresse_vergeben',
          'letzter_administrator',
          'zu_oft',
        ] as const),
      ],
      examples: [
        {
          summary: 'Neue E-Mail-Adresse',
          as: 'nutzer',
          path: own,
          form: { email: 'neu@example.org' },
          headers: { 'X-HTTP-Method-Override': 'PUT' },
          status: 200,
        },
        {
          summary: 'Konten werden nicht gelöscht',
          as: 'administrator',
          path: own,
          headers: { 'X-HTTP-Method-Override': 'DELETE' },
          status: 405,
        },
      ],
    },
  ];
}
