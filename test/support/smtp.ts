// A server that takes mails.
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface Mail {
  to: string[];
  raw: string;
}

/** A server that takes mails, unless it says something else to one of them. */
export function makeSmtp(options: SMTPServerOptions = {}, refuse: () => string | undefined = () => undefined) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream, session, done) {
      void text(stream).then((raw) => {
        const refusal = refuse();
        if (refusal) return done(Object.assign(new Error(refusal), { responseCode: 451 }));
        mails.push({ to: session.envelope.rcptTo.map((recipient: { address: string }) => recipient.address), raw });
        done();
      });
    },
    ...options,
  });
  return { server, mails };
}

export const closeSmtp = (server: SMTPServer) => new Promise<void>((resolve) => server.close(resolve));

/** As a mail client shows it. */
export function decodeMail(raw: string): string {
  const joined = raw.replaceAll('\r\n', '\n').replace(/=\n/g, '');
  const bytes = joined.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
