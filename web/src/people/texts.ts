import { ago, number, plural, translatable } from '../languages/index.ts';

export const texts = translatable('people', {
  you: {
    title: 'You',
    loading: 'Loading …',
    key: (name: string) => `You are signed in as ${name}.`,
    password: 'You are signed in with the password of the server.',
    admin: 'You are signed in as administrator.',
    tab: 'You are signed in for this tab only: this browser does not send the cookie of the server.',
    owner: 'This is the machine of the server, where you need no key.',
    signedOut: 'You are not signed in.',
    signIn: 'Sign in',
    becomeAdmin: 'Sign in as administrator',
    connect: 'Connect a device',
    signOut: 'Sign out',
    signOutEverywhere: 'Sign out everywhere',
    devices: 'Your devices',
  },
  signingOut: {
    title: 'Sign out',
    here: 'What is stored in this browser stays in it: chats, stories and characters can be read by everybody who uses it.',
    everywhere: 'All your devices are signed out. What is stored in their browsers stays in them.',
    keep: 'Sign out',
    remove: 'Sign out and delete what is stored in this browser',
    cancel: 'Cancel',
  },
  device: {
    unnamed: 'A device',
    current: 'this browser',
    used: (ago: string) => `used ${ago}`,
    now: 'used just now',
    end: 'Sign out',
    endOf: (device: string) => `Sign out: ${device}`,
  },
  people: {
    title: 'People and apps',
    help: 'Everybody has a key of their own, with their own chats, limits and usage.',
    invite: 'Invite',
    refresh: 'Refresh',
    empty: 'Nobody has a key yet. Invite somebody: the link signs them in, with a QR code for phones.',
    loading: 'Loading …',
    noKeys:
      'This server knows no people: everybody who reaches it is the same to it. Start it with --lan to invite phones and computers of your network, or with --keyfile FILE to give everybody a key.',
    adminOff: 'People are invited on the machine of the server, or anywhere if it was started with --admin.',
    scopes: 'May use',
    nothing: 'Nothing',
    limits: 'Limits',
    noLimits: 'none',
    weight: (weight: string) => `share of the queue ${weight}`,
    library: 'Chats and files',
    own: 'their own',
    shared: 'the common library',
    until: 'Until',
    month: 'In 30 days',
    unused: 'nothing used',
    devices: 'Signed in on',
    noDevices: 'no device',
    connect: 'Connect a device',
    change: 'Edit',
    export: 'Export',
    exporting: 'Exporting …',
    remove: 'Remove',
    expired: 'Expired',
    expiredHelp: 'The key no longer works, so no device can be connected. “Edit” gives it a later end.',
  },
  invitations: {
    title: 'Open invitations',
    left: (minutes: number) => plural(minutes, { one: 'works for # more minute', other: 'works for # more minutes' }),
    device: 'for another device',
    withdraw: 'Withdraw',
    withdrawOf: (name: string) => `Withdraw: ${name}`,
  },
  invite: {
    title: 'Invite',
    for: 'For',
    kinds: { person: 'A person', app: 'An app' },
    appHelp: 'Apps get a key instead of a link. It is shown once.',
    name: 'Name',
    may: 'May use',
    sets: { everything: 'Everything', chat: 'Chat only', choice: 'Choose' },
    everythingHelp: 'All but administration.',
    adminHelp: 'Administration includes models, people and all settings of the server.',
    limits: 'Limits',
    tokens: 'Tokens per day',
    rate: 'Requests per minute',
    weight: 'Share of the queue',
    weightHelp: '2 gets twice the turns of 1.',
    unlimited: 'No limit',
    shared: 'Common library',
    sharedHelp:
      'Chats, stories and files that are kept on the server are shared, as in a family. Otherwise they are their own.',
    access: 'May use the server',
    forGood: 'For good',
    /** By days. */
    days: { 1: 'For a day', 7: 'For a week', 30: 'For a month' },
    link: 'The link works',
    /** By minutes. */
    minutes: { 15: 'For 15 minutes', 60: 'For an hour', 1440: 'For a day' },
    make: 'Make the invitation',
    makeKey: 'Make the key',
    nothingChosen: 'Choose at least one thing that they may use.',
  },
  key: {
    title: (name: string) => `Key of ${name}`,
    help: 'Copy it now: the server keeps only its hash and cannot show it again.',
    label: 'Key',
    address: 'Address for apps with the OpenAI API',
    done: 'Done',
  },
  link: {
    title: (name: string) => `Invitation for ${name}`,
    deviceTitle: (name: string) => `Another device for ${name}`,
    own: 'Connect a device',
    help: 'Scan the code with the camera of a phone, or send the link. It works once: show it to nobody else.',
    code: 'QR code of the link',
    label: 'Link',
    address: 'Address',
    onlyHere: 'This address works on this machine only. Start the server with --lan, so that other devices find it.',
    left: (time: string) => `Works for ${time}`,
    over: 'The link is too old. Make another one.',
    used: (name: string) => `The link was used: ${name} is signed in.`,
    withdraw: 'Withdraw',
    withdrawn: 'The invitation was withdrawn.',
    done: 'Done',
  },
  changing: {
    title: (name: string) => `Change ${name}`,
    until: (day: string) => `until ${day}`,
    save: 'Save',
  },
  removing: {
    title: (name: string) => `Remove ${name}`,
    help: 'The key ends at once, and all devices are signed out. What is stored in their browsers stays there.',
    choice: 'Data on the server',
    keep: 'Keep the data: a new key of this name finds it',
    remove: 'Delete all chats, stories, characters, memories, files and usage',
    confirm: 'Remove',
    cancel: 'Cancel',
    done: (name: string) => `${name} was removed.`,
  },
});

export function deviceName({ device }: { readonly device: string }): string {
  return device === '' ? texts.device.unnamed : device;
}

/** `used 2 hours ago`; times of use are exact to an hour. */
export function usedLine(time: string, now: number): string {
  const seconds = (now - Date.parse(time)) / 1000;
  return seconds < 3600 ? texts.device.now : texts.device.used(ago(seconds));
}

/** `14:59` */
export function countdown(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const two = (value: number): string => number(value, { minimumIntegerDigits: 2 });
  const minutes = Math.floor(seconds / 60);
  const end = `${two(minutes % 60)}:${two(seconds % 60)}`;
  return minutes < 60 ? end : `${number(Math.floor(minutes / 60))}:${end}`;
}
