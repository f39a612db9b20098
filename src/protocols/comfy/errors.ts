import type { ErrorCode } from '../../core/errors.ts';
import { type Family, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';

/** Clients parse every failure as JSON of this shape. */
export const comfyFamily: Family = {
  name: 'comfy',
  title: 'ComfyUI API',
  errorReply(error) {
    const type = types[error.code] ?? (error.status >= 500 ? 'server_error' : 'invalid_request');
    const body = { ...refusalBody({ type, message: error.message, details: '' }), ...busyDetail(error) };
    return json(body, error.status, retryHeaders(error));
  },
};

const types: Partial<Record<ErrorCode, string>> = {
  'invalid-json': 'invalid_prompt',
  'invalid-field': 'invalid_prompt',
  'not-found': 'not_found',
  'missing-parameter': 'not_found',
  'model-missing': 'no_model',
};

export interface GraphProblem {
  readonly type: string;
  readonly message: string;
  readonly details: string;
  readonly extra_info?: object;
}

/** What is wrong with one node, for the outputs that need it. */
export interface NodeProblems {
  readonly errors: readonly GraphProblem[];
  readonly dependent_outputs: readonly string[];
  readonly class_type: string;
}

export type NodeErrors = Readonly<Record<string, NodeProblems>>;

/** A graph that cannot be run at all. */
export class GraphRefusal extends Error {
  constructor(
    readonly problem: GraphProblem,
    readonly nodeErrors: NodeErrors = {},
  ) {
    super(problem.message);
  }
}

/** One output that cannot be had, because of this node. */
export class NodeFault extends Error {
  constructor(
    readonly node: { readonly id: string; readonly classType: string },
    readonly problem: GraphProblem,
  ) {
    super(`${problem.message}: ${problem.details}`);
  }
}

export function refusalReply({ problem, nodeErrors }: GraphRefusal): Reply {
  return json(refusalBody(problem, nodeErrors), 400);
}

function refusalBody({ type, message, details, extra_info = {} }: GraphProblem, nodeErrors: NodeErrors = {}): object {
  return { error: { type, message, details, extra_info }, node_errors: nodeErrors };
}
