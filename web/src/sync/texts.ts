/** Sentences of the synchronisation with the server. */
export const texts = {
  title: 'On this server',
  keep: 'Keep chats, stories and characters on this server',
  help: 'Other browsers in which this is switched on show the same. Everybody with the password of the server can read them.',
  off: 'The server must be started with --savedatafile FILE for this.',
  working: 'Synchronising …',
  done: (time: string) => `Synchronised at ${time}.`,
  failed: (reason: string) => `Not synchronised: ${reason} Changes are kept here and sent later.`,
} as const;
