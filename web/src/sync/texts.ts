import { translatable } from '../languages/index.ts';

/** Sentences of the synchronisation with the server. */
export const texts = translatable('sync', {
  title: 'On this server',
  keep: 'Keep chats, stories and characters on this server',
  help: 'Every browser with this setting on shows the same chats, stories and characters. With a key of your own they are yours; with the password or without a key, everybody who uses the common library can read them.',
  off: 'The server must be started with --savedatafile FILE for this.',
  otherTab: 'Another tab of this browser keeps them synchronised.',
  working: 'Synchronising …',
  done: (time: string) => `Synchronised at ${time}.`,
  failed: (reason: string) => `Not synchronised: ${reason.replace(/\.?$/, '.')} Changes are kept here and sent later.`,
  locked: 'Sign in to this server first.',
  tooLarge: (name: string) => `${name} stays in this browser: it is larger than 32 million characters.`,
  refused: (name: string, reason: string) => `${name} stays in this browser: ${reason}`,
  unnamed: 'A record without a name',
});
