import { translatable } from '../languages/index.ts';

export const texts = translatable('app', {
  product: 'Parley',
  skip: 'Skip to content',
  views: 'Views',
  view: { chat: 'Chat', write: 'Write', draw: 'Draw', sound: 'Sound', knowledge: 'Knowledge' },
  settings: 'Settings',
  theme: (theme: string) => `Theme: ${theme}`,
  loading: 'Loading …',
  viewFailed: 'Cannot load this page. Check that the server is running, then reload the page.',
  signIn: {
    title: 'Sign in',
    help: 'Enter your key or the password of the server. To sign in with a link or QR code instead, ask whoever runs the server for an invitation.',
    label: 'Key or password',
    adminTitle: 'Sign in as administrator',
    adminHelp: 'Enter the password of --adminpassword, or a key with the scope admin.',
    adminLabel: 'Admin password or key',
    remember: 'Stay signed in',
    submit: 'Sign in',
    problem: {
      wrong: 'Wrong key or password.',
      'too-many': 'Too many wrong tries. Try again in a minute.',
      unreachable: 'The server is not responding. Try again in a moment.',
    },
  },
  status: {
    unreachable: 'The server is not responding. Your text is kept, and the page reconnects by itself.',
    retry: 'Retry now',
    signedOut: 'You are not signed in.',
    signIn: 'Sign in',
    loading: (name: string, progress: number) => `Loading ${name} … ${Math.round(progress * 100)} %`,
    loadingModel: 'Loading the model',
    failed: (name: string, reason: string) => `Cannot load ${name}: ${reason}`,
    downloading: (name: string) => `Downloading ${name}`,
    models: 'Models',
  },
});
