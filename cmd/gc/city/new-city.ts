export type CityTemplate = 'mayor' | 'team' | 'k8s';

export interface NewCity {
  readonly name: string;
  /** A built-in preset, or `demo`. */
  readonly provider: string;
  readonly template: CityTemplate;
}

/** The files of a new city by their path in its folder; the city file is the last. */
export function cityFiles(city: NewCity): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  files.set('agents/mayor/prompt.template.md', mayorPrompt(city.template));
  if (city.template === 'team') {
    for (const name of WORKERS) files.set(`agents/${name}/prompt.template.md`, WORKER_PROMPT);
  }
  files.set('.gitignore', GITIGNORE);
  files.set('city.yaml', cityYaml(city));
  return files;
}

const WORKERS = ['worker-1', 'worker-2'] as const;

const GITIGNORE = `# Gas City
.gc/
`;

const WORKER_PROMPT = `You are {{.AgentName}}, a worker. The mayor tells you what to do.
Wait for instructions; do nothing by yourself.
`;

function mayorPrompt(template: CityTemplate): string {
  const others =
    template === 'team'
      ? `Two workers are at hand: ${WORKERS.join(' and ')}.\nReach them with \`gc nudge ${WORKERS[0]} "..."\`.\n`
      : '';
  return `You are {{.AgentName}}, the mayor of this city. You plan, and you talk to the person who runs it.
${others}Wait for instructions; do nothing by yourself.
`;
}

function cityYaml({ name, provider, template }: NewCity): string {
  const agents = ['mayor', ...(template === 'team' ? WORKERS : [])];
  const listed = agents.map((agent) =>
    agent === 'mayor'
      ? '  - name: mayor\n    description: Plans, and talks to you'
      : `  - name: ${agent}\n    depends_on: [mayor]`,
  );
  const always = agents.map((agent) => `  - { template: ${agent}, mode: always }`);
  const session = template === 'k8s' ? IN_A_CLUSTER : '';
  return `# A city of coding agents. Check it with: gc config show --validate
workspace:
  name: ${JSON.stringify(name)}
  # The agent program of every agent that names no other: claude, codex, gemini ...
  provider: ${provider}
${provider === 'demo' ? DEMO_PROVIDER : ''}${session}
# Each agent's prompt is in agents/<name>/prompt.template.md.
agents:
${listed.join('\n')}

# Sessions that are always up. Others are started with: gc session new <agent>
named_sessions:
${always.join('\n')}
`;
}

const IN_A_CLUSTER = `
# Each agent is a pod. What is set in the environment (GC_K8S_NAMESPACE, GC_K8S_IMAGE ...) wins.
session:
  provider: k8s
  k8s:
    namespace: gc
    # Has the agent program, sh, git, tar and coreutils; deploy/Dockerfile makes one. Nodes must be able to pull it.
    image: gc-agent:latest
    cpu_request: 500m
    mem_request: 1Gi
    cpu_limit: "2"
    mem_limit: 4Gi
`;

/** The file that the demo provider runs, in the city's folder. */
export const DEMO_AGENT_FILE = 'demo-agent.mjs';

const DEMO_PROVIDER = `
# A scripted stand-in for an agent program. Once you have a real one, change \`provider\` above and delete this.
providers:
  demo:
    display_name: Demo agent
    command: node "{{.CityRoot}}/${DEMO_AGENT_FILE}"
    path_check: node
    prompt_mode: arg
    ready_prompt_prefix: "demo> "
    process_names: [node]
`;
