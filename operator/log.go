package main

import (
	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// newLogger logs to standard error, one JSON object a line.
func newLogger(level zapcore.Level) (logr.Logger, error) {
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(level)
	// Sampling drops lines when many are alike, as those of many clusters in the same trouble are.
	c.Sampling = nil
	c.DisableStacktrace, c.DisableCaller = true, true
	c.EncoderConfig.TimeKey = "time"
	c.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	z, err := c.Build()
	if err != nil {
		return logr.Logger{}, err
	}
	return zapr.NewLogger(z), nil
}

// useLogger makes it the logger of the libraries too, so that the whole output is JSON.
func useLogger(logger logr.Logger) {
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
}
