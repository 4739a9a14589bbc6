import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { ApiKey, Scope } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { api, spansNamespaces, who } from '../../state/session.ts'
import { Badge, Button, Card, Heading, Loaded, When } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/form.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { shownOnce } from './secret-dialog.tsx'

/** The keys of the server: who may do what, and when each was used last. */
export function KeysView(): JSX.Element {
  const keys = useResource(
    'keys',
    (current, abort) => current.get<{ keys: readonly ApiKey[] }>('/v1/keys', {}, abort),
    { everyMs: 10_000, live: true },
  )
  const filter = useSignal('')
  return (
    <>
      <Heading
        title="API keys"
        note="A key opens what its scope and its namespace allow. The server checks every request."
      >
        <Button tone="main" icon="plus" onClick={askNewKey}>
          New key
        </Button>
      </Heading>
      <Loaded from={keys} what="keys">
        {({ keys: list }) => (
          <Card>
            {list.length > 10 && (
              <TextField
                label="Name contains"
                type="search"
                value={filter.value}
                input={(value) => (filter.value = value)}
              />
            )}
            <Table
              label="Keys"
              columns={columns}
              rows={list
                .filter(({ name }) => name.includes(filter.value))
                .toSorted((a, b) => b.createdAt - a.createdAt)}
              keyOf={({ id }) => id}
            />
          </Card>
        )}
      </Loaded>
    </>
  )
}

const columns: readonly Column<ApiKey>[] = [
  {
    title: 'Name',
    label: 'Name',
    class: 'wide',
    cell: ({ name, id }) => (
      <span class="two-lines">
        <span>
          {name} {id === who.value?.key.id && <Badge>yours</Badge>}
        </span>
        <span class="muted name">{id}</span>
      </span>
    ),
  },
  {
    title: 'Scope',
    label: 'Scope',
    cell: ({ scope }) => (
      <Badge icon={scope === 'read' ? 'eye' : scope === 'write' ? 'edit' : 'keys'}>{scope}</Badge>
    ),
  },
  {
    title: 'Namespace',
    label: 'Namespace',
    cell: ({ namespace }) => namespace ?? <span class="muted">all</span>,
  },
  { title: 'Made', label: 'Made', cell: ({ createdAt }) => <When at={createdAt} both={false} /> },
  { title: 'Last used', label: 'Last used', cell: ({ lastUsedAt }) => <When at={lastUsedAt} both={false} /> },
  {
    title: 'Expires',
    label: 'Expires',
    cell: ({ expiresAt }) =>
      expiresAt === undefined ? <span class="muted">never</span> : <When at={expiresAt} both={false} />,
  },
  {
    title: 'Actions',
    label: 'Actions',
    cell: (key) => (
      <Button tone="quiet" aria-label={`Revoke ${key.name} ${key.id}`} onClick={() => askRevoke(key)}>
        Revoke
      </Button>
    ),
  },
]

function askRevoke({ id, name }: ApiKey): void {
  const isOwn = id === who.peek()?.key.id
  ask({
    title: `Revoke ${name}?`,
    body: (
      <p>
        {isOwn ? 'It is the key that you use: you are signed out at once. ' : ''}Programs that use it are
        refused from now on, on other instances within about two seconds.
      </p>
    ),
    action: 'Revoke the key',
    isDangerous: true,
    run: async () => {
      await api.value.send('DELETE', `/v1/keys/${id}`)
      return `Revoked ${name}.`
    },
  })
}

function askNewKey(): void {
  const [name, scope, namespace, expiresIn] = [signal(''), signal<Scope>('read'), signal(''), signal('90d')]
  ask({
    title: 'New key',
    body: <NewKeyFields name={name} scope={scope} namespace={namespace} expiresIn={expiresIn} />,
    action: 'Make the key',
    run: async () => {
      const { token } = await api.value.send<{ token: string }>('POST', '/v1/keys', {
        name: name.value.trim(),
        scope: scope.value,
        ...(namespace.value.trim() !== '' && { namespace: namespace.value.trim() }),
        ...(expiresIn.value.trim() !== '' && { expiresIn: expiresIn.value.trim() }),
      })
      shownOnce(`The key ${name.value.trim()}`, 'Copy it to where it is used.', token)
    },
  })
}

function NewKeyFields({
  name,
  scope,
  namespace,
  expiresIn,
}: {
  readonly name: { value: string }
  readonly scope: { value: Scope }
  readonly namespace: { value: string }
  readonly expiresIn: { value: string }
}): JSX.Element {
  return (
    <>
      <TextField
        label="Name"
        required
        maxLength={64}
        value={name.value}
        input={(value) => (name.value = value)}
        hint="What it is for. Two keys of a name may be active, for rotation."
      />
      <Select
        label="Scope"
        value={scope.value}
        options={[
          ['read', 'read: sees everything, changes nothing'],
          ['write', 'write: also changes timers and pauses'],
          ['admin', 'admin: also targets, quotas and keys'],
        ]}
        choose={(value) => (scope.value = value)}
      />
      {spansNamespaces.value && (
        <TextField
          label="Namespace"
          maxLength={128}
          value={namespace.value}
          input={(value) => (namespace.value = value)}
          hint="Empty for all namespaces."
        />
      )}
      <TextField
        label="Expires in"
        maxLength={64}
        value={expiresIn.value}
        input={(value) => (expiresIn.value = value)}
        hint="Such as 90d. Empty for never."
      />
    </>
  )
}
