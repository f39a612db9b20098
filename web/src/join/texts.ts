import { number, plural, translatable } from '../languages/index.ts';

export const texts = translatable('join', {
  title: 'Invitation',
  looking: 'Reading the invitation …',
  /** The name of who is invited. */
  joining: (name: string) => `You are joining as ${name}`,
  returning: (name: string) => `You are signing in as ${name}`,
  invitedBy: (name: string) => `${name} invites you to this server of language models.`,
  invited: 'You are invited to this server of language models.',
  another: 'This link signs this browser in, too. Your chats on the server are the same on all your devices.',
  mayUse: (features: string) => `You may use: ${features}.`,
  tokens: (perDay: number) => `Up to ${number(perDay)} tokens a day.`,
  rate: (perMinute: number) =>
    plural(perMinute, { one: 'Up to # request a minute.', other: 'Up to # requests a minute.' }),
  until: (day: string) => `Until ${day}.`,
  own: 'Chats that you keep on the server are yours alone.',
  shared: 'Chats that you keep on the server are shared with everybody who uses the common library.',
  minutes: (minutes: number) =>
    plural(minutes, { one: 'The link works for # more minute.', other: 'The link works for # more minutes.' }),
  join: 'Join',
  signIn: 'Sign in',
  replaces: (name: string) => `In this browser ${name} is signed in. That ends when you go on.`,
  replacesPassword: 'In this browser somebody is signed in with the password. That ends when you go on.',
  joined: (name: string) => `Welcome, ${name}. You are signed in.`,
  open: 'Open Parley',
  retry: 'Try again',
  problems: {
    missing:
      'The link is incomplete: what stands behind the # is the invitation. Open the whole link, or scan the code again.',
    unknown:
      'This server does not know the invitation. It may have been withdrawn, or it belongs to another server. Ask for a new one.',
    used: 'This invitation was used already: each works once. If it was not you, tell whoever has sent it, and ask for a new one.',
    expired: 'This invitation is too old: each works for a short time only. Ask for a new one.',
    'none-here': 'This server has no keys, so nobody can be invited. Open it, or ask whoever runs it.',
    'too-many': 'Too many wrong links were opened from your network. Try again in a minute.',
    cookies:
      'This browser does not send the cookie that signs you in. Allow cookies for this address, or use one that leads to the server without a proxy, and open the link again.',
    unreachable: 'The server is not responding. Check that it is running and that you are in its network.',
  },
});
