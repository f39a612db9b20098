import { expect } from 'vitest';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { asking, type Proof, proveFidelity } from '../testing/fidelity-proof.ts';
import { fakeImage } from '../testing/pictures.ts';
import { comfyFidelity } from './fields.ts';
import { node, stockBody, stockGraph } from './testing/graphs.ts';
import { comfyWorld } from './testing/world.ts';

/** What a prompt became: the items of the queue. */
function world() {
  const { endpoints, desk } = comfyWorld(fakeImage());
  return {
    endpoints,
    get asked() {
      const { queue_pending: pending } = desk.queue() as { queue_pending: readonly unknown[][] };
      return pending.map(([number, id, graph, extra, outputs]) => ({ number, id, graph, extra, outputs }));
    },
  };
}

const two = { ...stockGraph(), '10': node('PreviewImage', { images: ['8', 0] }) };
const proofs: Readonly<Record<string, Proof>> = {
  prompt: { send: { prompt: two }, asks: { outputs: ['9', '10'] }, refuses: [{ prompt: {} }, { prompt: 5 }] },
  client_id: { send: { client_id: 'me' }, asks: { extra: { client_id: 'me' } }, refuses: [{ client_id: 5 }] },
  prompt_id: { send: { prompt_id: 'mine' }, asks: { id: 'mine' }, refuses: [{ prompt_id: {} }] },
  number: { send: { number: 7 }, asks: { number: 7 } },
  front: { send: { front: true }, asks: { number: -1 } },
  extra_data: { send: { extra_data: { a: 1 } }, asks: { extra: { a: 1 } }, refuses: [{ extra_data: 'x' }] },
  partial_execution_targets: {
    send: { partial_execution_targets: ['10'] },
    beside: { prompt: two },
    asks: { outputs: ['10'] },
    refuses: [{ partial_execution_targets: ['x'] }],
  },
};

proveFidelity({
  table: comfyFidelity[0] as EndpointFidelity,
  base: stockBody(),
  ask: asking(world, 'POST', '/prompt'),
  proofs,
  refusal: (reply) =>
    expect(reply).toMatchObject({
      error: { type: expect.any(String), message: expect.any(String) },
      node_errors: expect.any(Object),
    }),
});
