# The operator's image: one static binary, run by a user without rights. Build it with
#   docker build --build-arg VERSION=0.1.0 --tag valkey-operator:0.1.0 .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
# The modules first: they change less often than the code, and this layer is then reused.
COPY go.mod go.sum ./
RUN go mod download
COPY cue cue
COPY engine engine
COPY actions actions
COPY operator operator
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.1.0
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X main.version=$VERSION" -o /out/valkey-operator ./operator

FROM scratch
LABEL org.opencontainers.image.title="valkey-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY LICENSE /LICENSE
COPY --from=build /out/valkey-operator /usr/bin/valkey-operator
# A number, so that the kubelet can tell that it is not root (runAsNonRoot).
USER 65532:65532
ENTRYPOINT ["/usr/bin/valkey-operator"]
CMD ["run"]
