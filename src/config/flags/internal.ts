import type { FlagTable } from '../flag.ts';

/** What KoboldCpp passes to itself. Kept so that a copied command line is understood. */
export const internalFlags = {
  testmemory: {
    names: ['--testmemory'],
    type: 'switch',
    default: false,
    availability: 'later',
    saved: false,
    help: 'Memory test of the launcher.',
  },
  run_bundled_agent: {
    names: ['--run-bundled-agent'],
    type: 'switch',
    default: false,
    availability: 'later',
    saved: false,
    help: 'Be the terminal agent of a running server.',
  },
  agent_base_url: {
    names: ['--agent-base-url'],
    type: 'text',
    default: '',
    metavar: 'URL',
    availability: 'later',
    saved: false,
    help: 'Server that the terminal agent talks to.',
  },
  agent_api_key: {
    names: ['--agent-api-key'],
    type: 'text',
    default: '',
    secret: true,
    metavar: 'KEY',
    availability: 'later',
    saved: false,
    help: 'Key that the terminal agent sends.',
  },
} as const satisfies FlagTable;
