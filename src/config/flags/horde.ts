import type { FlagTable } from '../flag.ts';

export const hordeFlags = {
  hordemodelname: {
    names: ['--hordemodelname'],
    type: 'text',
    default: '',
    metavar: 'NAME',
    availability: 'ready',
    help: 'Model name that clients are told. Makes --debugmode -1 unless it is set.',
  },
  hordeworkername: {
    names: ['--hordeworkername'],
    type: 'text',
    default: '',
    metavar: 'NAME',
    availability: 'later',
    help: 'Name of this worker on the AI Horde. Makes --debugmode -1 unless it is set.',
  },
  hordekey: {
    names: ['--hordekey'],
    type: 'text',
    default: '',
    secret: true,
    metavar: 'KEY',
    availability: 'later',
    help: 'Key for the AI Horde. Makes --debugmode -1 unless it is set.',
  },
  hordemaxctx: {
    names: ['--hordemaxctx'],
    type: 'integer',
    default: 0,
    min: 0,
    metavar: 'TOKENS',
    availability: 'ready',
    defaultText: '0, --contextsize',
    help: 'Context size that clients are told.',
  },
  hordegenlen: {
    names: ['--hordegenlen'],
    type: 'integer',
    default: 0,
    min: 0,
    metavar: 'TOKENS',
    availability: 'ready',
    defaultText: '0, 1024',
    help: 'Longest reply that clients are told.',
  },
} as const satisfies FlagTable;
